#include "services/index/discovery.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/index/metric_names.h"

namespace ron::index {

using base::Code;
using base::fail;
using base::Result;
using catalog::ProviderRecord;
using platform::Task;
using runtime::BreakerState;
using runtime::Deadline;

namespace {

// 50 to 100 ms before each.
constexpr runtime::RetryPolicy kRetries{
    .max_tries = 1 + Discovery::kMaxRetries,
    .backoff = {.base = std::chrono::milliseconds(100), .cap = std::chrono::milliseconds(100)}};
constexpr base::Duration kProbeDeadline = std::chrono::milliseconds(1200);

std::uint32_t milliseconds(base::Duration time) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return static_cast<std::uint32_t>(std::max<std::int64_t>(count, 0));
}

// Of each node the newest.
void keep_newest(std::vector<ProviderRecord>& records) {
  std::ranges::sort(records, std::ranges::greater(), &ProviderRecord::seq);
  std::set<std::pair<auth::PublicKey, std::string>> seen;
  std::erase_if(records, [&](const ProviderRecord& record) {
    const bool is_signed = record.node != auth::PublicKey();
    return !seen.emplace(record.node, is_signed ? std::string() : record.url).second;
  });
}

// What a probe hears does not matter, only that it hears something.
class ProbeFinds final : public Finds {
 public:
  void begun() noexcept override { is_there_ = true; }
  Task<bool> offer(std::vector<ProviderRecord>) override { co_return false; }
  [[nodiscard]] bool is_there() const noexcept { return is_there_; }

 private:
  bool is_there_ = false;
};

}  // namespace

// One target in one search. Says, when it goes, what came of it.
class Discovery::Lane final : public Finds {
 public:
  Lane(Discovery& discovery, std::uint32_t target, const base::ObjectId& addr, SearchTime time)
      : discovery_(discovery),
        target_(target),
        addr_(addr),
        time_(time),
        since_(platform::Executor::current()->now()),
        outcome_(discovery.asks_[target].aborted) {}
  // One that had begun to answer when it was aborted is alive.
  ~Lane() override {
    if (begun_) pass_.succeeded();
    outcome_->add();
  }

  void begun() noexcept override { begun_ = true; }
  Task<bool> offer(Records records) override {
    if (discovery_.targets_[target_]->kind() == TargetKind::Static) {
      const auto ttl = std::chrono::duration_cast<std::chrono::milliseconds>(kStaticTtl);
      const std::int64_t until = discovery_.parts_.host.clock.unix_ms() + ttl.count();
      for (ProviderRecord& record : records) {
        record.expires_ms = static_cast<std::uint64_t>(until);
      }
    } else {
      records = co_await discovery_.parts_.trust->sift(addr_, std::move(records), &verified_);
    }
    std::ranges::move(records, std::back_inserter(records_));
    co_return !records_.empty();
  }

  // Before every try. False if the breaker says no.
  bool admit() {
    std::optional<BreakerTable::Pass> pass = discovery_.parts_.breakers->try_pass(target_);
    if (pass) pass_ = std::move(*pass);
    return pass.has_value();
  }
  // What a try came to, for the breaker. Nothing was heard in time, or something that breaks the
  // rules; what went wrong on our side says nothing, and neither does a client's own deadline.
  void judge(const Result<void>& heard) {
    const bool is_late = !heard && heard.error().code == Code::Timeout;
    const bool is_cut_short = is_late && time_.is_hurried && time_.until.passed();
    if (heard || (is_late && begun_)) {
      pass_.succeeded();
    } else if (!is_cut_short && (is_late || heard.error().code == Code::UpstreamFail)) {
      pass_.failed();
    }
    outcome_ = heard ? (records_.empty() ? counters().none : counters().found)
                     : (is_late ? counters().late : counters().failed);
  }
  // It was aborted because it was slower than others, or than it may be.
  void mark_late() {
    outcome_ = counters().late;
    if (!begun_) pass_.failed();
  }
  // It was aborted because whoever asked had no more time.
  void mark_cut_short() { outcome_ = counters().late; }
  void ended() { took_ = platform::Executor::current()->now() - since_; }

  [[nodiscard]] std::uint32_t target() const noexcept { return target_; }
  [[nodiscard]] const base::ObjectId& addr() const noexcept { return addr_; }
  [[nodiscard]] bool has_begun() const noexcept { return begun_; }
  [[nodiscard]] base::Duration took() const noexcept { return took_; }
  [[nodiscard]] Records take_records() { return std::exchange(records_, {}); }

 private:
  [[nodiscard]] const AskCounters& counters() const { return discovery_.asks_[target_]; }

  Discovery& discovery_;
  const std::uint32_t target_;
  const base::ObjectId addr_;
  const SearchTime time_;
  const platform::TimePoint since_;
  base::Duration took_{};
  bool begun_ = false;
  std::size_t verified_ = 0;
  Records records_;  // those that count
  BreakerTable::Pass pass_;
  runtime::Counter* outcome_;
};

Discovery::Discovery(DiscoveryParts parts, http::ClientSettings client)
    : parts_(parts),
      client_(parts.host.net, std::move(client), *parts.meters),
      targets_(parts.targets->make(client_, *parts.meters)),
      retrier_(*parts.meters, "find_providers", kRetries, retry_budget_, parts.host.random),
      extra_asks_(parts.meters->counter(metrics::kExtraAsks)),
      hedged_(parts.meters->counter(metrics::kHedgedSearches)),
      found_(parts.meters->counter(metrics::kSearches, {"found"})),
      none_(parts.meters->counter(metrics::kSearches, {"none"})),
      failed_(parts.meters->counter(metrics::kSearches, {"failed"})),
      timeout_(parts.meters->counter(metrics::kSearches, {"timeout"})),
      took_(parts.meters->histogram(metrics::kLookupMs)) {
  for (const std::string& name : parts.targets->names()) {
    const auto counter = [&](std::string_view outcome) {
      return &parts_.meters->counter(metrics::kAsks, {name, outcome});
    };
    asks_.push_back({.found = counter("found"),
                     .none = counter("none"),
                     .failed = counter("failed"),
                     .late = counter("late"),
                     .aborted = counter("aborted")});
  }
}

// Those whose breaker is closed, begun at another one for every address, so that all share the
// load. One that is half open is left to the janitor's probes unless there is nobody else.
std::vector<std::uint32_t> Discovery::candidates(const base::ObjectId& addr, bool is_static) const {
  std::vector<std::uint32_t> closed;
  std::vector<std::uint32_t> half_open;
  for (std::uint32_t i = 0; i < parts_.targets->size(); ++i) {
    if ((parts_.targets->kind(i) == TargetKind::Static) != is_static) continue;
    const BreakerState state = parts_.breakers->state(i);
    if (state == BreakerState::Closed) closed.push_back(i);
    if (state == BreakerState::HalfOpen) half_open.push_back(i);
    if (state == BreakerState::Open) parts_.breakers->count_refusal(i);
  }
  std::vector<std::uint32_t>& chosen = closed.empty() ? half_open : closed;
  if (!chosen.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(addr.hash() % chosen.size());
    std::ranges::rotate(chosen, chosen.begin() + first);
  }
  return std::move(chosen);
}

Task<Result<Found>> Discovery::discover(base::ObjectId addr, SearchPolicy policy,
                                        Deadline deadline) {
  const platform::TimePoint begun = platform::Executor::current()->now();
  // An eighth may have passed in a queue before this search: that is no hurry of the client's.
  const SearchTime time{.until = deadline.sooner(Deadline::in(policy.deadline)),
                        .is_hurried = deadline < Deadline::in(policy.deadline * 7 / 8)};
  std::optional<Result<Found>> result;
  for (const bool is_static : {false, true}) {
    const bool is_settled = result && (*result || result->error().code != Code::NotFound);
    std::vector<std::uint32_t> whom = candidates(addr, is_static);
    if (is_settled || whom.empty()) continue;
    Result<Found> found = co_await search(addr, std::move(whom), policy.hedge, time);
    result = std::move(found);
  }
  if (!result && parts_.targets->size() > 0) {
    base::Error error(Code::BreakerOpen, "all who could be asked are given a rest");
    error.retry_after_s = 1;
    result = fail(std::move(error));
  } else if (!result) {
    result = fail(Code::NotFound, "there is no other server to ask");
  }
  count(*result, begun);
  co_return std::move(*result);
}

Task<Result<Found>> Discovery::search(base::ObjectId addr, std::vector<std::uint32_t> targets,
                                      HedgePolicy policy, SearchTime time) {
  const Deadline deadline = time.until;
  std::vector<std::unique_ptr<Lane>> lanes;
  const Ask<Records> ask_one = [&](std::uint32_t who) {
    lanes.push_back(std::make_unique<Lane>(*this, targets[who], addr, time));
    return ask(lanes.back().get(), deadline);
  };
  Hedged<Records> hedged = co_await hedge<Records>(
      policy, static_cast<std::uint32_t>(targets.size()), ask_one, deadline);
  const bool is_cut_short = !hedged.answers && time.is_hurried;
  for (const std::uint32_t who : hedged.late) {
    if (is_cut_short) {
      lanes[who]->mark_cut_short();
    } else {
      lanes[who]->mark_late();
    }
  }
  if (hedged.hedged) hedged_.add();
  if (hedged.asked > policy.alpha) extra_asks_.add(hedged.asked - policy.alpha);
  if (!hedged.answers) co_return fail(std::move(hedged.answers.error()));
  Found found{.hedged = hedged.hedged, .asked = hedged.asked};
  const Lane& winner = *lanes[hedged.answers->back().who];
  found.winner = parts_.targets->name(winner.target());
  found.source = parts_.targets->kind(winner.target());
  found.latency_ms = milliseconds(winner.took());
  for (auto& answer : *hedged.answers) {
    std::ranges::move(answer.value, std::back_inserter(found.records));
  }
  keep_newest(found.records);
  co_return found;
}

Task<Result<Discovery::Records>> Discovery::ask(Lane* lane, Deadline deadline) {
  const Result<Result<void>> tried =
      co_await retrier_.run([this, lane, deadline] { return try_once(lane, deadline); }, deadline);
  lane->ended();
  const Result<void> heard = tried ? *tried : fail(tried.error());
  if (!heard) co_return fail(heard.error());
  Records records = lane->take_records();
  if (records.empty()) co_return fail(Code::NotFound, "it knows no provider");
  co_return records;
}

Task<Result<Result<void>>> Discovery::try_once(Lane* lane, Deadline deadline) {
  if (!lane->admit()) {
    co_return Result<void>(fail(Code::BreakerOpen, "it is given a rest"));
  }
  const Result<void> heard = co_await targets_[lane->target()]->find(lane->addr(), lane, deadline);
  lane->judge(heard);
  const bool is_transient = !heard && heard.error().code == Code::UpstreamFail;
  if (is_transient && !lane->has_begun()) co_return fail(heard.error());
  co_return heard;
}

Task<bool> Discovery::probe(std::uint32_t target) {
  std::array<std::byte, base::ObjectId::kBytes> digest{};
  parts_.host.random.fill(digest);
  ProbeFinds finds;
  const Result<void> heard =
      co_await targets_[target]->find(base::ObjectId(digest), &finds, Deadline::in(kProbeDeadline));
  co_return heard || (heard.error().code == Code::Timeout && finds.is_there());
}

void Discovery::count(const Result<Found>& result, platform::TimePoint begun) {
  took_.observe(std::uint64_t{milliseconds(platform::Executor::current()->now() - begun)});
  if (result) {
    found_.add();
  } else if (result.error().code == Code::NotFound) {
    none_.add();
  } else if (result.error().code == Code::Timeout) {
    timeout_.add();
  } else {
    failed_.add();
  }
}

}  // namespace ron::index
