#include "services/index/resolver.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/metric_names.h"
#include "services/index/lists.h"
#include "services/index/metric_names.h"
#include "services/index/names.h"

namespace ron::index {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

Resolver::Resolver(ResolverParts parts)
    : parts_(parts),
      took_(parts_.topology->meters().histogram(metrics::kResolveSeconds)),
      deadline_hits_(parts_.topology->meters().counter(metrics::kDeadlineHit)),
      timeouts_(
          parts_.topology->meters().counter(runtime::metrics::kIoTimeoutsTotal, {"resolve"})) {}

Task<Result<AnswerPtr>> Resolver::resolve(catalog::Key key, bool is_fresh,
                                          runtime::Deadline deadline) {
  const platform::TimePoint began = parts_.host.clock.monotonic();
  auto answer = std::make_shared<Answer>();
  answer->key = catalog::print(key);
  // Read before what they stand for is.
  answer->basis.name_slot = Epochs::slot_of(answer->key);
  const auto* const ref = std::get_if<catalog::NameRef>(&key);
  if (ref != nullptr) {
    answer->basis.name_slot = Epochs::slot_of(ref->name.text());
    answer->basis.name_epoch = parts_.epochs->at(answer->basis.name_slot);
    const auto version = co_await find_name(&parts_.store->map(), *ref);
    if (!version) co_return fail(version.error());
    if (!*version || !(*version)->target) {
      answer->basis.address_slot = answer->basis.name_slot;
      answer->basis.address_epoch = answer->basis.name_epoch;
      co_return keep(std::move(answer));
    }
    answer->address = *(*version)->target;
    answer->version = (*version)->version;
  } else {
    answer->address = std::get<base::ObjectId>(key);
    answer->basis.name_epoch = parts_.epochs->at(answer->basis.name_slot);
  }
  answer->basis.address_slot = Epochs::slot_of(answer->address);
  answer->basis.address_epoch = parts_.epochs->at(answer->basis.address_slot);
  answer->is_found = ref != nullptr;
  auto known = co_await find_known(answer.get());
  if (!known) co_return fail(std::move(known.error()));
  answer->providers = std::move(known->announced);
  if ((answer->providers.empty() || is_fresh) && discover_) {
    const Result<void> asked = co_await add_discovered(answer.get(), &*known, deadline);
    if (!asked) co_return fail(asked.error());
  }
  if (rank_) rank_(answer->providers);
  if (answer->providers.size() > kResolvedList.most) answer->providers.resize(kResolvedList.most);
  answer->is_found = answer->is_found || answer->manifest || !answer->providers.empty();
  took_.observe(parts_.host.clock.monotonic() - began);
  co_return keep(std::move(answer));
}

Task<Result<Resolver::Known>> Resolver::find_known(Answer* answer) {
  const auto manifest = co_await find_manifest(&parts_.store->map(), answer->address);
  if (!manifest) co_return fail(manifest.error());
  answer->manifest = *manifest;
  const auto entries = co_await find_providers(&parts_.store->map(), answer->address);
  if (!entries) co_return fail(entries.error());
  const auto now = static_cast<std::uint64_t>(parts_.host.clock.unix_ms());
  Known known;
  for (const ProviderEntry& entry : *entries) {
    known.seqs[entry.record.node] = entry.record.seq;
    if (entry.record.expires_ms <= now) continue;
    if (!entry.is_own && is_trusted_ && !is_trusted_(entry.record.node)) continue;
    (entry.is_own ? known.announced : known.heard_of)
        .push_back({.record = entry.record, .seen_ms = entry.seen_ms, .source = Source::Store});
  }
  co_return known;
}

// A name leads to its address also while nobody says who has that.
Task<Result<void>> Resolver::add_discovered(Answer* answer, Known* known,
                                            runtime::Deadline deadline) {
  auto found = co_await discover_(answer->address, deadline);
  if (!found) {
    count(found.error());
    const bool is_nobody = found.error().code == Code::NotFound;
    if (!is_nobody) std::ranges::move(known->heard_of, std::back_inserter(answer->providers));
    if (is_nobody || answer->is_found || !answer->providers.empty()) co_return Result<void>();
    co_return fail(std::move(found.error()));
  }
  std::erase_if(found->providers, [known](const Provider& provider) {
    const auto seq = known->seqs.find(provider.record.node);
    return seq != known->seqs.end() && provider.record.seq < seq->second;
  });
  if (found->providers.empty()) {
    std::ranges::move(known->heard_of, std::back_inserter(answer->providers));
    co_return Result<void>();
  }
  answer->source = found->source;
  answer->winner = std::move(found->winner);
  answer->is_hedged = found->is_hedged;
  if (learn_) learn_(found->providers);
  for (Provider& provider : found->providers) {
    const auto is_same = [&provider](const Provider& other) {
      return other.record.node == provider.record.node &&
             (other.source != Source::Static || other.record.url == provider.record.url);
    };
    std::erase_if(answer->providers, is_same);
    answer->providers.push_back(std::move(provider));
  }
  co_return Result<void>();
}

// A name whose providers nobody knows is asked for again soon.
AnswerPtr Resolver::keep(std::shared_ptr<Answer> answer) {
  const SettingsPtr settings = parts_.settings->get();
  const bool is_good = answer->is_found && !answer->providers.empty();
  const base::Duration ttl = is_good ? settings->cache.positive_ttl : settings->cache.negative_ttl;
  std::int64_t left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(ttl).count();
  // What was asked for together is not forgotten together: up to a tenth sooner, by the key.
  constexpr std::int64_t kParts = 1024;
  const auto part = static_cast<std::int64_t>(std::hash<std::string>{}(answer->key) % kParts);
  left_ms -= left_ms / 10 * part / kParts;
  // Not beyond the time for which somebody has signed.
  const std::int64_t now_ms = parts_.host.clock.unix_ms();
  for (const Provider& provider : answer->providers) {
    left_ms = std::min(left_ms, static_cast<std::int64_t>(provider.record.expires_ms) - now_ms);
  }
  answer->expires = parts_.host.clock.monotonic() + std::chrono::milliseconds(left_ms);
  render(*answer);
  AnswerPtr shared = std::move(answer);
  if (left_ms > 0 && shared->body.size() <= kMostCachedBytes) parts_.cache_feed->offer(shared);
  return shared;
}

void Resolver::count(const base::Error& why) {
  if (why.code != Code::Timeout) return;
  deadline_hits_.add();
  timeouts_.add();
}

}  // namespace ron::index
