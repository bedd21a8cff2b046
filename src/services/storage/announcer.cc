#include "services/storage/announcer.h"

#include <algorithm>
#include <utility>

#include "runtime/background.h"
#include "runtime/wait_either.h"
#include "services/storage/metric_names.h"
#include "services/storage/wires.h"

namespace ron::storage {

using base::Result;
using catalog::ProviderRecord;
using index_api::IndexApi;
using platform::Task;
using runtime::Deadline;
using runtime::Shutdown;
using storage_api::Change;
using Records = std::vector<ProviderRecord>;

namespace {

platform::TimePoint now() { return platform::Executor::current()->now(); }

std::uint64_t in_ms(base::Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

constexpr platform::BlockingKind kSignRecords{"sign_records", std::chrono::seconds(10)};

// On a thread of the blocking pool: a batch takes milliseconds.
Result<Records> sign_all(Records records, const auth::SigningKey& key,
                         const base::StopToken& stop) {
  for (ProviderRecord& record : records) {
    if (stop.requested()) return base::fail(stop.error());
    Result<ProviderRecord> made = catalog::sign(std::move(record), key);
    if (!made) return base::fail(std::move(made.error()));
    record = std::move(*made);
  }
  return records;
}

}  // namespace

Announcer::Announcer(AnnouncerParts parts, AnnounceSettings settings)
    : parts_(std::move(parts)),
      settings_(*parts_.topology, kAnnounceChannel,
                std::make_shared<const AnnounceSettings>(std::move(settings))),
      announced_(parts_.topology->meters().counter(metrics::kAnnouncedTotal)),
      withdrawn_(parts_.topology->meters().counter(metrics::kWithdrawnTotal)),
      failures_(parts_.topology->meters().counter(metrics::kAnnounceFailuresTotal)),
      stale_(parts_.topology->meters().counter(metrics::kAnnounceStaleTotal)),
      lost_(parts_.topology->meters().counter(metrics::kWithdrawalsLostTotal)),
      jitter_(parts_.host.random.next()),
      now_(*settings_.get()),
      pacer_({now_.rps}, {kBatch},
             parts_.topology->meters().histogram(metrics::kAnnounceWaitSeconds)) {}

Announcer::~Announcer() = default;

void Announcer::apply(AnnounceSettings settings) {
  settings_.set(std::make_shared<const AnnounceSettings>(std::move(settings)));
}

std::uint64_t Announcer::lag_ms() const noexcept {
  const std::int64_t oldest = oldest_unix_ms_.load(kRelaxed);
  const std::int64_t unix_ms = parts_.host.clock.unix_ms();
  return oldest == kNothingWaits || oldest > unix_ms ? 0
                                                     : static_cast<std::uint64_t>(unix_ms - oldest);
}

Task<void> Announcer::run(IndexApi* index, Shutdown shutdown) {
  const auto changes = parts_.storage->listen();
  auto settings = settings_.subscribe();
  take_settings(*settings.see());
  sweep_.reset();
  want_sweep();  // after it has begun to listen: what is stored from now on is heard of or listed
  const runtime::Background<void> listening(listen(changes.get()));
  const runtime::Background<void> minding(mind_settings(&settings));
  while (!shutdown.requested()) {
    wake_.clear();
    const Step step = next_step(now());
    if (step == Step::Wait) {
      co_await runtime::wait_either(runtime::EventOp(wake_), runtime::StopOp{shutdown}, next_due());
      continue;
    }
    Task<bool> saying = step == Step::Changes ? say_changes(index) : say_page(index);
    const bool said = co_await until_stop(std::move(saying), shutdown);
    tries_ = said ? 0 : tries_ + 1;
    if (said) continue;
    const base::Duration pause = kBackoff.delay(tries_ - 1, jitter_);
    co_await runtime::wait_stop(shutdown, Deadline::in(pause));
  }
  co_await platform::Yield();  // what has just happened is heard of, too
  bool said = !now_.url.empty();
  while (said && backlog_.size() > 0) said = co_await until_stop(say_changes(index), shutdown);
}

// Ends with the run that it is a part of.
Task<void> Announcer::listen(storage_api::Changes* changes) {
  for (;;) {
    const Result<Change> change = co_await changes->next(Deadline());
    if (!change) co_return;
    if (change->kind == Change::Kind::Missed) {
      want_sweep();
    } else {
      const bool is_there = change->kind == Change::Kind::Stored;
      const auto noted = backlog_.note(change->object.id, is_there, now());
      if (noted == AnnounceBacklog::Noted::ListAgain) want_sweep();
      if (noted == AnnounceBacklog::Noted::Lost) lost_.add();
    }
    show_levels();
    wake_.set();
  }
}

// Ends with the run that it is a part of, too.
Task<void> Announcer::mind_settings(Settings::Receiver* settings) {
  const Shutdown never;
  for (;;) {
    const runtime::Waited waited = co_await settings->changed(Deadline(), never);
    if (waited != runtime::Waited::Ready) co_return;
    take_settings(*settings->see());
    wake_.set();
  }
}

void Announcer::take_settings(const AnnounceSettings& next) {
  const bool says_other = next.url != now_.url || next.region != now_.region;
  now_ = next;
  pacer_.set_rate(now(), {now_.rps});
  if (says_other) want_sweep();
}

void Announcer::want_sweep() {
  if (sweep_) {
    sweep_again_ = true;
    return;
  }
  sweep_again_ = false;
  swept_at_ = now();
  sweep_.emplace(Sweep{.since = swept_at_});
  show_levels();
}

void Announcer::end_sweep() {
  sweep_.reset();
  if (sweep_again_) want_sweep();
  show_levels();
}

// Changes and pages take turns: neither waits for the other's end.
Announcer::Step Announcer::next_step(platform::TimePoint now) {
  if (now_.url.empty()) return Step::Wait;
  if (!sweep_ && now >= swept_at_ + now_.ttl / 2) want_sweep();
  const auto oldest = backlog_.oldest();
  const bool gathered = backlog_.size() >= kBatch || (oldest && now >= *oldest + kGather);
  if (!gathered && !sweep_) return Step::Wait;
  const bool takes_page = sweep_ && (page_is_next_ || !gathered);
  page_is_next_ = !takes_page;
  return takes_page ? Step::Page : Step::Changes;
}

// When there is something to do if nothing happens until then.
Deadline Announcer::next_due() const {
  if (now_.url.empty()) return {};
  const Deadline renewal(swept_at_ + now_.ttl / 2);
  const auto oldest = backlog_.oldest();
  return oldest ? renewal.sooner(Deadline(*oldest + kGather)) : renewal;
}

// A stop gives all that is still to be said a moment, no more.
Task<bool> Announcer::until_stop(Task<bool> step, Shutdown shutdown) {
  runtime::Background<bool> saying(std::move(step));
  if (!saying.done()) {
    const runtime::First first = co_await runtime::wait_either(
        saying.finished(), runtime::StopOp{std::move(shutdown)}, Deadline());
    if (first == runtime::First::Other) {
      if (last_moment_ == Deadline()) last_moment_ = Deadline::in(kLastCalls);
      co_await runtime::wait_for(saying.finished(), last_moment_);
    }
  }
  co_return saying.done() && saying.take();
}

Task<bool> Announcer::say_changes(IndexApi* index) {
  const Items items = backlog_.take(kBatch);
  const Result<void> said = co_await say(index, items);
  if (!said) {
    backlog_.put_back(items);
    failed(said.error());
  }
  show_levels();
  co_return said.has_value();
}

// What fails is listed again before it is said again: an object that was removed meanwhile has
// been withdrawn by then, and must not come back.
Task<bool> Announcer::say_page(IndexApi* index) {
  const auto page = co_await parts_.storage->list(sweep_->after, kBatch, Deadline::in(kCallTime));
  if (!page) {
    failed(page.error());
    co_return false;
  }
  if (!page->empty()) {
    Items items;
    items.reserve(page->size());
    for (const storage_api::ObjectInfo& object : *page) items.push_back({object.id, true, {}});
    const Result<void> said = co_await say(index, std::move(items));
    if (!said) {
      failed(said.error());
      co_return false;
    }
    sweep_->after = page->back().id;
  }
  if (page->size() < kBatch) end_sweep();
  co_return true;
}

Task<Result<void>> Announcer::say(IndexApi* index, Items items) {
  const Result<void> may = co_await pacer_.acquire(items.size(), Deadline());
  if (!may) co_return base::fail(may.error());
  Result<Records> records = co_await sign(items);
  if (!records) co_return base::fail(std::move(records.error()));
  const Result<std::size_t> accepted =
      co_await index->announce(std::move(*records), Deadline::in(kCallTime));
  if (!accepted) co_return base::fail(accepted.error());
  count(items, *accepted);
  co_return Result<void>();
}

// No two batches have the same `seq`, and a later process begins above all of them: there are fewer
// than a thousand batches in a second.
Task<Result<Records>> Announcer::sign(Items items) {
  const auto unix_ms = static_cast<std::uint64_t>(parts_.host.clock.unix_ms());
  last_seq_ = std::max(unix_ms, last_seq_ + 1);
  Records records;
  records.reserve(items.size());
  for (const AnnounceBacklog::Item& item : items) {
    ProviderRecord record;
    record.addr = item.id;
    record.url = now_.url;
    record.region = now_.region;
    record.seq = last_seq_;
    record.expires_ms = item.is_there ? unix_ms + in_ms(now_.ttl) : unix_ms;
    records.push_back(std::move(record));
  }
  auto done = co_await parts_.host.blocking.run(
      kSignRecords,
      [key = parts_.key, records = std::move(records)](const base::StopToken& stop) mutable {
        return sign_all(std::move(records), *key, stop);
      });
  if (!done) co_return base::fail(std::move(done.error()));
  co_return std::move(*done);
}

void Announcer::count(const Items& items, std::size_t accepted) {
  const auto there =
      static_cast<std::size_t>(std::ranges::count(items, true, &AnnounceBacklog::Item::is_there));
  announced_.add(there);
  withdrawn_.add(items.size() - there);
  // Of what it has never heard of an index takes no withdrawal, and needs none.
  if (accepted >= there) return;
  stale_.add(there - accepted);
  const auto silenced = said_stale_.admit(parts_.host.clock.unix_ms());
  if (!silenced) return;
  parts_.log.warn(
      "the index has newer records of this node: the clock was set back, or another machine has "
      "its key",
      {{"records", there - accepted}, {"silenced", *silenced}});
}

void Announcer::failed(const base::Error& why) {
  failures_.add();
  const auto silenced = said_failure_.admit(parts_.host.clock.unix_ms());
  if (!silenced) return;
  parts_.log.warn("cannot announce what is stored", {{"code", why.name()},
                                                     {"what", why.message},
                                                     {"waiting", backlog_.size()},
                                                     {"silenced", *silenced}});
}

void Announcer::show_levels() {
  waiting_.store(backlog_.size(), kRelaxed);
  std::optional<platform::TimePoint> oldest = backlog_.oldest();
  if (sweep_ && (!oldest || sweep_->since < *oldest)) oldest = sweep_->since;
  if (!oldest) return oldest_unix_ms_.store(kNothingWaits, kRelaxed);
  const auto waited = static_cast<std::int64_t>(in_ms(now() - *oldest));
  oldest_unix_ms_.store(parts_.host.clock.unix_ms() - waited, kRelaxed);
}

}  // namespace ron::storage
