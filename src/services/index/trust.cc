#include "services/index/trust.h"

#include <algorithm>
#include <cassert>
#include <mutex>

#include "services/index/metric_names.h"
#include "services/index/wires.h"

namespace ron::index {
namespace {

using catalog::ProviderRecord;

constexpr platform::BlockingKind kVerifyFound{"verify_found_records", std::chrono::seconds(10)};

// Once it is asked to stop no further record counts as signed.
std::vector<ProviderRecord> with_valid_signatures(std::vector<ProviderRecord> records,
                                                  const base::StopToken& stop) {
  std::erase_if(records, [&stop](const ProviderRecord& one) {
    return stop.requested() || !has_valid_signature(one);
  });
  return records;
}

}  // namespace

std::optional<Doubt> doubt(const ProviderRecord& record, const base::ObjectId& addr,
                           const TrustPolicy& policy, std::int64_t now_ms) {
  const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(now_ms, 0));
  const auto ttl = std::chrono::duration_cast<std::chrono::milliseconds>(policy.max_ttl).count();
  if (record.addr != addr) return Doubt::OtherAddress;
  if (record.expires_ms <= now) return Doubt::Expired;
  if (record.expires_ms - now > static_cast<std::uint64_t>(ttl)) return Doubt::TooLong;
  if (!policy.anyone && !policy.nodes.contains(record.node)) return Doubt::Foreign;
  return std::nullopt;
}

HighestSeqs::HighestSeqs(std::size_t most) : most_(most), lock_(kSeqsLock) { assert(most > 0); }

bool HighestSeqs::note(const ProviderRecord& record) {
  const std::lock_guard guard(lock_);
  const Key key(record.addr, record.node);
  const auto [known, is_new] = seqs_.try_emplace(key, record.seq);
  if (!is_new) {
    if (record.seq < known->second) return false;
    known->second = record.seq;
    return true;
  }
  if (order_.size() < most_) {
    order_.push_back(key);
    return true;
  }
  seqs_.erase(std::exchange(order_[oldest_], key));
  oldest_ = (oldest_ + 1) % most_;
  return true;
}

Trust::Trust(platform::Host host, runtime::Meters& meters, TrustPolicy policy)
    : host_(host),
      lock_(kTrustLock),
      policy_(std::make_shared<const TrustPolicy>(std::move(policy))) {
  for (const std::string_view reason : metrics::kDoubts) {
    refused_.push_back(&meters.counter(metrics::kRecordsRefused, {reason}));
  }
}

bool Trust::knows(const auth::PublicKey& node) const { return policy()->nodes.contains(node); }

bool Trust::believes(const auth::PublicKey& node) const {
  const std::shared_ptr<const TrustPolicy> policy = this->policy();
  return policy->anyone || policy->nodes.contains(node);
}

void Trust::set(TrustPolicy policy) {
  auto next = std::make_shared<const TrustPolicy>(std::move(policy));
  const std::lock_guard guard(lock_);
  policy_.swap(next);
}

std::shared_ptr<const TrustPolicy> Trust::policy() const {
  const std::lock_guard guard(lock_);
  return policy_;
}

void Trust::refuse(Doubt why) { refused_[static_cast<std::size_t>(why)]->add(); }

platform::Task<std::vector<ProviderRecord>> Trust::sift(base::ObjectId addr,
                                                        std::vector<ProviderRecord> records,
                                                        std::size_t* verified) {
  const std::shared_ptr<const TrustPolicy> policy = this->policy();
  const std::int64_t now_ms = host_.clock.unix_ms();
  std::erase_if(records, [&](const ProviderRecord& record) {
    std::optional<Doubt> why = doubt(record, addr, *policy, now_ms);
    // One that has expired may take back what was said before it: that is for its sequence to say.
    if (why == Doubt::Expired && (policy->anyone || policy->nodes.contains(record.node))) why = {};
    if (!why && *verified >= kMaxVerified) why = Doubt::TooMany;
    if (why) {
      refuse(*why);
    } else {
      ++*verified;
    }
    return why.has_value();
  });
  if (records.empty()) co_return records;
  const std::size_t signed_ones = records.size();
  auto valid = co_await host_.blocking.run(
      kVerifyFound, [given = std::move(records)](const base::StopToken& stop) mutable {
        return with_valid_signatures(std::move(given), stop);
      });
  if (!valid) co_return std::vector<ProviderRecord>();
  for (std::size_t i = valid->size(); i < signed_ones; ++i) refuse(Doubt::Forged);
  // The newest of a node first, so that it is the one that is noted.
  std::ranges::sort(*valid, std::ranges::greater(), &ProviderRecord::seq);
  std::set<auth::PublicKey> seen;
  std::erase_if(*valid, [&](const ProviderRecord& record) {
    if (!seqs_.note(record)) {
      refuse(Doubt::Replayed);
      return true;
    }
    if (!seen.insert(record.node).second) return true;
    const bool is_over = record.expires_ms <= static_cast<std::uint64_t>(now_ms);
    if (is_over) refuse(Doubt::Expired);
    return is_over;
  });
  co_return std::move(*valid);
}

}  // namespace ron::index
