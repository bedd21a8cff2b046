#include "services/registry/deep_verifier.h"

#include "services/registry/metric_names.h"

namespace ron::registry {
namespace {

using base::fail;
using base::Result;
using platform::Task;

// What a slice reads at most; its time usually ends it sooner.
constexpr platform::BlockingKind kRestoreState{"restore_state", std::chrono::minutes(1)};
// Ends by itself after registry.verify_slice.
constexpr platform::BlockingKind kVerifySlice{"verify_log_slice", std::chrono::seconds(30)};
constexpr std::size_t kSliceVersions = 1024;
constexpr std::size_t kSliceBytes = 4 * base::kMiB;

// How long it rests when the disk does not answer, or a version was pruned under its eyes.
constexpr base::Duration kPatience = std::chrono::seconds(1);

// Everything but what may be otherwise the next time.
bool is_damage(const base::Error& why) noexcept {
  return why.code != base::Code::NotFound && why.code != base::Code::StorageBusy &&
         why.code != base::Code::Busy;
}

std::uint64_t next_of(const chain::State& state) {
  return state.is_empty() ? 0 : state.head().version + 1;
}

}  // namespace

DeepVerifier::DeepVerifier(DeepVerifierParts parts)
    : parts_(std::move(parts)),
      failures_(parts_.topology->meters().counter(metrics::kVerifyFailures)) {}

// The state it starts from is read from the checkpoint, whose signature was checked at the start.
Task<Result<chain::State>> DeepVerifier::begin() {
  const CheckpointPtr base = parts_.store->checkpoints().with_state(UINT64_MAX);
  if (!base) co_return chain::State();
  const auto snapshot =
      co_await parts_.store->checkpoints().read_snapshot(base->checkpoint.version);
  if (!snapshot) co_return fail(snapshot.error());
  auto state = co_await parts_.host.blocking.run(kRestoreState, [snapshot = *snapshot] {
    return chain::restore(snapshot, chain::Signatures::Verify);
  });
  if (!state) co_return fail(std::move(state.error()));
  co_return std::move(*state);
}

Task<Result<DeepVerifier::Slice>> DeepVerifier::verify(chain::State state) {
  auto frames = co_await parts_.store->log().read(next_of(state), kSliceVersions, kSliceBytes);
  if (!frames) co_return fail(std::move(frames.error()));
  const base::Duration most = parts_.settings->get()->verify_slice;
  const platform::Clock* const clock = &parts_.host.clock;
  const std::uint64_t found_below = found_below_;
  // By value: the work may outlast whoever waits for it.
  co_return co_await parts_.host.blocking.run(
      kVerifySlice, [state = std::move(state), frames = std::move(*frames), most, clock,
                     found_below](const base::StopToken& stop) mutable {
        const platform::TimePoint end = clock->monotonic() + most;
        Slice slice{std::move(state), {}};
        for (const std::string& frame : frames) {
          const auto signatures = next_of(slice.state) < found_below ? chain::Signatures::Verify
                                                                     : chain::Signatures::Trust;
          auto taken = chain::take_next(slice.state, base::as_bytes(frame), signatures);
          if (!taken) slice.wrong = std::move(taken.error());
          if (!taken || stop.requested() || clock->monotonic() >= end) break;
        }
        return slice;
      });
}

void DeepVerifier::report(std::uint64_t version, const base::Error& why) {
  found_damage_.store(true);
  failures_.add();
  parts_.log.error("the log does not verify", {{"version", version}, {"what", why.message}});
}

// While versions are being committed it has a twentieth of a core at most.
base::Duration DeepVerifier::rest_after(base::Duration took, bool is_busy) const {
  const base::Duration pause = parts_.settings->get()->verify_pause;
  return is_busy ? std::max(pause, 20 * took) : pause;
}

// What was pruned meanwhile is covered by a later checkpoint: it goes on from there. So it does
// when the disk did not answer.
Task<void> DeepVerifier::run(runtime::Shutdown shutdown) {
  auto committed = parts_.committed->subscribe("verifier");
  Result<chain::State> state = co_await begin();
  while (!shutdown.requested()) {
    if (state && next_of(*state) < parts_.store->log().first()) state = co_await begin();
    base::Duration pause = kPatience;
    if (state) {
      const std::uint64_t version = next_of(*state);
      verified_below_.store(version);
      if (version >= parts_.store->log().next()) {
        const auto received = co_await committed.recv_or_stop(shutdown);
        if (!received) co_return;
        continue;
      }
      const std::uint64_t log_end = parts_.store->log().next();
      const platform::TimePoint began = parts_.host.clock.monotonic();
      auto slice = co_await verify(std::move(*state));
      if (slice && slice->wrong) {
        report(next_of(slice->state), *slice->wrong);
        break;
      }
      if (slice) {
        const bool is_busy = parts_.store->log().next() != log_end;
        pause = rest_after(parts_.host.clock.monotonic() - began, is_busy);
      }
      state = slice ? Result<chain::State>(std::move(slice->state)) : fail(slice.error());
    }
    if (!state && is_damage(state.error())) {
      report(verified_below_.load(), state.error());
      break;
    }
    co_await runtime::wait_stop(shutdown, runtime::Deadline::in(pause));
    if (!state) state = co_await begin();
  }
  co_await runtime::wait_stop(shutdown, runtime::Deadline());
}

}  // namespace ron::registry
