#include "http/upstream_group.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/background.h"
#include "runtime/backoff.h"
#include "runtime/metric_names.h"
#include "runtime/waiting.h"

namespace ron::http {

using base::Code;
using base::fail;

namespace {

using Positions = UpstreamGroup::Positions;

// When to ask again for what an operator took out.
constexpr std::uint32_t kDrainedRetryS = 5;
// What is read of a probe's answer to save its connection.
constexpr std::uint64_t kProbeBodyBytes = 64 * base::kKiB;

constexpr Positions bit(std::size_t position) noexcept { return Positions{1} << position; }

std::size_t first_of(Positions positions) noexcept {
  return static_cast<std::size_t>(std::countr_zero(positions));
}

// Not a refusal of ours, and not for want of the request's body.
bool is_upstreams_fault(const base::Error& error, const SendProgress& progress) noexcept {
  if (progress.body_failed) return false;
  return error.code == Code::UpstreamFail || error.code == Code::Timeout;
}

// A deadline that passed ended the request: had the upstream all of its time by then? But for an
// eighth of it, which may have gone into the choice of a member and into the wait for a connection.
bool had_its_time(const SendProgress& progress, AnswerTime time, platform::TimePoint now) noexcept {
  if (time.is_hurried || time.within.count() == 0 || progress.waits_since > now) return false;
  return now - progress.waits_since >= time.within - time.within / 8;
}

// The body of a request on its way to a member whose breaker is half open: others are refused until
// it is known what comes of the request, so it gives its place back when its body has to be waited
// for.
class ProbeBody final : public BodySource {
 public:
  ProbeBody(BodySource& inner, UpstreamAttempt& attempt) noexcept
      : inner_(inner), attempt_(attempt) {}

  platform::Task<base::Result<base::ByteView>> next() override {
    return attempt_.has_place() ? next_of_probe() : inner_.next();
  }

 private:
  platform::Task<base::Result<base::ByteView>> next_of_probe() {
    runtime::Background<base::Result<base::ByteView>> piece(inner_.next());
    if (!piece.done()) attempt_.give_place_back();
    // The source bounds its own waiting.
    co_await runtime::wait_for(piece.finished(), runtime::Deadline());
    co_return piece.take();
  }

  BodySource& inner_;
  UpstreamAttempt& attempt_;
};

// Another member, or the same one later, may do better.
bool may_repeat(const base::Error& error, const ClientRequest& request) noexcept {
  const bool helps = is_upstreams_fault(error, *request.progress) || error.code == Code::Busy;
  return helps && request.progress->repeatable(request.idempotent());
}

std::uint32_t whole_seconds(base::Duration duration) noexcept {
  return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(duration).count());
}

}  // namespace

UpstreamGroup::UpstreamGroup(std::string name, std::vector<Member> members, UpstreamPolicy policy,
                             runtime::Meters& meters, platform::Random& random)
    : name_(std::move(name)),
      policy_(std::move(policy)),
      ejection_places_(static_cast<std::uint32_t>(members.size() / 2)),
      budget_(policy_.retry.budget),
      retries_(meters.counter(runtime::metrics::kBackoffRetriesTotal, {"upstream"})),
      jitter_seed_(random.next()) {
  assert(!members.empty() && members.size() <= kMembers);
  assert(policy_.retry.max_tries > 0 && policy_.probe.fall > 0 && policy_.probe.rise > 0);
  for (Member& member : members) {
    members_.push_back(std::make_unique<UpstreamMember>(members_.size(), std::move(member.name),
                                                        std::move(member.address), policy_,
                                                        ejection_places_, meters, random));
  }
}

UpstreamGroup::~UpstreamGroup() {
  assert(std::ranges::all_of(members_, [](const auto& one) { return one->in_flight() == 0; }) &&
         "a group outlives its requests");
}

base::Result<UpstreamAttempt> UpstreamGroup::choose(platform::TimePoint now, Positions tried) {
  Positions healthy = 0;
  Positions ejected = 0;
  for (const auto& member : members_) {
    member->refresh(now);
    const UpstreamState state = member->state(now);
    if (state == UpstreamState::Healthy) healthy |= bit(member->position());
    if (state == UpstreamState::Ejected) ejected |= bit(member->position());
  }
  const Positions usable = healthy != 0 ? healthy : ejected;
  for (Positions among : {usable & ~tried, usable & tried}) {
    while (among != 0) {
      UpstreamMember& member = least_busy(among);
      if (auto permit = member.breaker().try_admit(now)) {
        return UpstreamAttempt(member, std::move(*permit));
      }
      among &= ~bit(member.position());
    }
  }
  return refuse(usable, now);
}

UpstreamMember& UpstreamGroup::least_busy(Positions among) noexcept {
  std::uint32_t fewest = std::numeric_limits<std::uint32_t>::max();
  Positions equals = 0;
  for (Positions rest = among; rest != 0; rest &= rest - 1) {
    const std::size_t position = first_of(rest);
    const std::uint32_t in_flight = members_[position]->in_flight();
    if (in_flight < fewest) equals = 0;
    fewest = std::min(fewest, in_flight);
    if (in_flight == fewest) equals |= bit(position);
  }
  if (!std::has_single_bit(equals)) {
    // Not one step: a turn that two cores take at once is evened out by what they have in flight.
    const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
    turn_.store(turn + 1, std::memory_order_relaxed);
    const std::uint32_t skipped = turn % static_cast<std::uint32_t>(std::popcount(equals));
    for (std::uint32_t i = 0; i < skipped; ++i) equals &= equals - 1;
  }
  return *members_[first_of(equals)];
}

// Nobody takes the request: says why, and when that may have changed. A breaker may have changed
// its mind meanwhile.
base::Result<UpstreamAttempt> UpstreamGroup::refuse(Positions usable, platform::TimePoint now) {
  std::optional<base::Error> soonest;
  for (; usable != 0; usable &= usable - 1) {
    UpstreamMember& member = *members_[first_of(usable)];
    base::Result<runtime::Breaker::Permit> permit = member.breaker().admit(now);
    if (permit) return UpstreamAttempt(member, std::move(*permit));
    const bool sooner = !soonest || permit.error().retry_after_s < soonest->retry_after_s;
    if (sooner) soonest = std::move(permit.error());
  }
  if (soonest) return fail(std::move(*soonest));
  const bool all_drained = std::ranges::all_of(
      members_, [now](const auto& member) { return member->state(now) == UpstreamState::Drained; });
  base::Error error(Code::Degraded, "every upstream of " + name_ + " is drained");
  error.retry_after_s = kDrainedRetryS;
  if (!all_drained) {
    error = base::Error(Code::UpstreamFail, "no upstream of " + name_ + " is healthy");
    error.retry_after_s = whole_seconds(policy_.probe.interval * policy_.probe.rise);
  }
  return fail(std::move(error));
}

// When the request is sent again, charged and counted; never (the default deadline) if it is not.
runtime::Deadline UpstreamGroup::schedule_retry(const base::Error& error,
                                                const ClientRequest& request, Tries tries,
                                                runtime::Deadline deadline,
                                                UpstreamMember& member) {
  if (tries.sent >= policy_.retry.max_tries || !may_repeat(error, request)) return {};
  // Drawn from the upper half of each step, so the first one is twice the base.
  const runtime::Backoff backoff{.base = 2 * policy_.retry.base, .cap = policy_.retry.cap};
  platform::FastRandom jitter(jitter_seed_.fetch_add(1, std::memory_order_relaxed));
  const runtime::Deadline again = runtime::Deadline::in(backoff.delay(tries.begun - 1, jitter));
  if (again >= deadline) return {};
  if (!budget_.withdraw()) {
    member.meters().retries_denied.add();
    return {};
  }
  retries_.add();
  return again;
}

platform::Task<base::Result<ClientResponse>> UpstreamGroup::send(Client* client,
                                                                 ClientRequest request,
                                                                 runtime::Deadline deadline,
                                                                 AnswerTime time) {
  if (deadline.passed()) {
    co_return fail(Code::Timeout, "the deadline had passed before an upstream was chosen");
  }
  SendProgress progress;
  if (request.progress == nullptr) request.progress = &progress;
  const platform::Executor& executor = *platform::Executor::current();
  const bool brings_host = !request.host.empty();
  BodySource* const source = request.source;
  Positions tried = 0;
  Tries tries;
  std::optional<base::Error> failure;  // of the try before
  for (;;) {
    base::Result<UpstreamAttempt> attempt = choose(executor.now(), tried);
    if (!attempt) co_return fail(std::move(failure ? *failure : attempt.error()));
    UpstreamMember& member = *attempt->member();
    if (time.is_hurried) attempt->hurry();
    std::optional<ProbeBody> probe_body;
    if (source != nullptr && attempt->has_place()) {
      request.source = &probe_body.emplace(*source, *attempt);
    } else {
      request.source = source;
    }
    ++tries.begun;
    ++tries.sent;
    request.may_resend = tries.sent < policy_.retry.max_tries;
    request.progress->resent = false;
    request.progress->waits_since = platform::kNever;
    member.address().aim(request);
    if (!brings_host) request.host = member.address().authority();
    if (tries.begun == 1) budget_.deposit();
    base::Result<ClientResponse> response = co_await client->send(request, deadline);
    if (request.progress->resent) ++tries.sent;
    if (response) {
      response->attach(std::move(*attempt));
      co_return std::move(response);
    }
    failure = std::move(response.error());
    const platform::TimePoint now = executor.now();
    const bool is_late = failure->code == Code::Timeout && now >= deadline.at();
    const bool is_fault = is_upstreams_fault(*failure, *request.progress) &&
                          (!is_late || had_its_time(*request.progress, time, now));
    if (is_fault) attempt->failed(now);
    attempt->end();
    const runtime::Deadline again = schedule_retry(*failure, request, tries, deadline, member);
    if (again == runtime::Deadline()) co_return fail(std::move(*failure));
    tried |= bit(member.position());
    co_await runtime::sleep_until(again);
  }
}

// What the member answers; no news if the client could not ask.
platform::Task<bool> UpstreamGroup::probe_member(Client* client, UpstreamMember* member) {
  ClientRequest request{.target = policy_.probe.path, .host = member->address().authority()};
  member->address().aim(request);
  base::Result<ClientResponse> response =
      co_await client->send(request, runtime::Deadline::in(policy_.probe.timeout));
  const platform::TimePoint now = platform::Executor::current()->now();
  const bool is_news = response || is_upstreams_fault(response.error(), {});
  const bool is_healthy = response && response->status() < 500;
  if (is_news) member->note_probe(is_healthy, now);
  // Only for the sake of its connection.
  if (response) co_await response->read_all(kProbeBodyBytes);
  co_return is_healthy;
}

platform::Task<void> UpstreamGroup::probe(Client* client) {
  const platform::TimePoint now = platform::Executor::current()->now();
  for (const auto& member : members_) member->refresh(now);
  if (policy_.probe.path.empty()) co_return;
  std::array<std::optional<runtime::Background<bool>>, kMembers> asking;
  for (const auto& member : members_) {
    asking[member->position()].emplace(probe_member(client, member.get()));
  }
  // Each has a deadline of its own.
  for (auto& one : asking) {
    if (one) co_await runtime::wait_for(one->finished(), runtime::Deadline());
  }
}

bool UpstreamGroup::set_drained(std::string_view member, bool drained) noexcept {
  for (const auto& one : members_) {
    if (one->name() != member) continue;
    one->set_drained(drained);
    return true;
  }
  return false;
}

void UpstreamGroup::set_all_drained(bool drained) noexcept {
  for (const auto& member : members_) member->set_drained(drained);
}

std::vector<UpstreamStatus> UpstreamGroup::status(platform::TimePoint now) const {
  std::vector<UpstreamStatus> all;
  all.reserve(members_.size());
  for (const auto& member : members_) all.push_back(member->status(now));
  return all;
}

}  // namespace ron::http
