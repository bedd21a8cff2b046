#include "services/registry/deep_verifier.h"

#include "services/registry/metric_names.h"

namespace ron::registry {
namespace {

using base::fail;
using base::Result;
using platform::Task;

// What a slice reads at most; its time usually ends it sooner.
constexpr std::size_t kSliceVersions = 1024;
constexpr std::size_t kSliceBytes = 4 * base::kMiB;

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
  auto state = co_await parts_.host.blocking.run(
      [snapshot = *snapshot] { return chain::restore(snapshot, chain::Signatures::Verify); });
  if (!state) co_return fail(std::move(state.error()));
  co_return std::move(*state);
}

Task<Result<DeepVerifier::Slice>> DeepVerifier::verify(chain::State state) {
  auto frames = co_await parts_.store->log().read(next_of(state), kSliceVersions, kSliceBytes);
  if (!frames) co_return fail(std::move(frames.error()));
  const base::Duration most = parts_.settings->get()->verify_slice;
  const platform::Clock* const clock = &parts_.host.clock;
  // By value: the work may outlast whoever waits for it.
  co_return co_await parts_.host.blocking.run([state = std::move(state),
                                               frames = std::move(*frames), most, clock]() mutable {
    const platform::TimePoint end = clock->monotonic() + most;
    Slice slice{std::move(state), {}};
    for (const std::string& frame : frames) {
      auto taken = chain::take_next(slice.state, base::as_bytes(frame), chain::Signatures::Verify);
      if (!taken) slice.wrong = std::move(taken.error());
      if (!taken || clock->monotonic() >= end) break;
    }
    return slice;
  });
}

void DeepVerifier::report(std::uint64_t version, const base::Error& why) {
  found_damage_.store(true);
  failures_.add();
  parts_.log.error("the log does not verify", {{"version", version}, {"what", why.message}});
}

Task<void> DeepVerifier::run(runtime::Shutdown shutdown) {
  auto committed = parts_.committed->subscribe("verifier");
  auto state = co_await begin();
  if (!state) {
    report(0, state.error());
    co_await runtime::wait_stop(shutdown, runtime::Deadline());
    co_return;
  }
  verified_below_.store(next_of(*state));
  while (!shutdown.requested()) {
    if (next_of(*state) >= parts_.store->log().next()) {
      const auto received = co_await committed.recv_or_stop(shutdown);
      if (!received) co_return;
      continue;
    }
    const std::uint64_t version = next_of(*state);
    auto slice = co_await verify(std::move(*state));
    if (!slice || slice->wrong) {
      report(slice ? next_of(slice->state) : version, slice ? *slice->wrong : slice.error());
      co_await runtime::wait_stop(shutdown, runtime::Deadline());
      co_return;
    }
    *state = std::move(slice->state);
    verified_below_.store(next_of(*state));
    const base::Duration pause = parts_.settings->get()->verify_pause;
    co_await runtime::wait_stop(shutdown, runtime::Deadline::in(pause));
  }
}

}  // namespace ron::registry
