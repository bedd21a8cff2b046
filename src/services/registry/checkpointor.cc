#include "services/registry/checkpointor.h"

#include <algorithm>
#include <utility>

#include "services/registry/wires.h"

namespace ron::registry {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using namespace std::chrono_literals;

// How often it looks whether one is due.
constexpr base::Duration kLookEvery = 1s;
constexpr base::Duration kCapturePatience = 30s;
constexpr platform::BlockingKind kTakeSnapshot{"take_snapshot", 30s};

}  // namespace

Checkpointor::Checkpointor(CheckpointorParts parts, std::size_t retention_capacity)
    : parts_(std::move(parts)),
      wanted_(*parts_.topology, kCheckpointWanted, 0),
      checkpointed_(*parts_.topology, kCheckpointed, 0),
      retention_cmd_(*parts_.topology, kRetentionCmd, retention_capacity) {}

bool Checkpointor::is_due(platform::TimePoint last, std::uint64_t wanted) const {
  if (!parts_.verifier->is_sound()) return false;
  const std::uint64_t head = parts_.views->head()->head.version;
  const CheckpointPtr latest = parts_.store->checkpoints().latest();
  if (!latest) return true;
  const std::uint64_t size = latest->checkpoint.size();
  if (head < size) return false;
  const auto settings = parts_.settings->get();
  const platform::TimePoint now = parts_.host.clock.monotonic();
  return wanted > size || head + 1 - size >= settings->storage.checkpoint_versions ||
         now - last >= settings->storage.checkpoint_interval;
}

// One that is overdue, because it failed or may not be made, is tried again when it looks next.
std::uint64_t Checkpointor::next_due() const {
  const CheckpointPtr latest = parts_.store->checkpoints().latest();
  const std::uint64_t size = latest ? latest->checkpoint.size() : 0;
  const std::uint64_t next = size + parts_.settings->get()->storage.checkpoint_versions - 1;
  return next > parts_.views->head()->head.version ? next : UINT64_MAX;
}

Task<void> Checkpointor::run(runtime::Shutdown shutdown) {
  auto wanted = wanted_.subscribe();
  platform::TimePoint last = parts_.host.clock.monotonic();
  while (!shutdown.requested()) {
    const std::uint64_t until = wanted.see();
    if (is_due(last, until)) {
      const Result<void> made = co_await make();
      last = parts_.host.clock.monotonic();
      if (!made) note_failure(made.error());
    }
    due_at_ = next_due();
    const base::Duration pause =
        std::min(kLookEvery, parts_.settings->get()->storage.checkpoint_interval);
    co_await wanted.changed(runtime::Deadline::in(pause), shutdown);
  }
  // So that the next start has little to read.
  const CheckpointPtr latest = parts_.store->checkpoints().latest();
  const std::uint64_t head = parts_.views->head()->head.version;
  if ((latest && latest->checkpoint.size() > head) || !parts_.verifier->is_sound()) co_return;
  const Result<void> made = co_await make();
  if (!made) note_failure(made.error());
}

void Checkpointor::note_failure(const base::Error& why) {
  const auto silenced = trouble_limit_.admit(parts_.host.clock.unix_ms());
  if (silenced) {
    parts_.log.warn("no checkpoint was made", {{"what", why.message}, {"silenced", *silenced}});
  }
}

Task<Result<void>> Checkpointor::make() {
  CaptureJob job;
  job.deadline = runtime::Deadline::in(kCapturePatience);
  const auto state =
      co_await parts_.committer->proposals().ask(std::move(job), kit::WhenFull::Wait);
  if (!state) co_return fail(state.error());
  Result<void> done = co_await sign(&*state);
  if (!done) co_return done;
  const std::uint64_t head = state->head().version;
  checkpointed_.set(head + 1);
  const std::uint64_t below = prune_point(head);
  if (below > parts_.store->log().first()) {
    const auto sent = retention_cmd_.try_send({below});
    if (!sent) parts_.log.warn("a prune was skipped until the next checkpoint", {});
  }
  co_return done;
}

Task<Result<void>> Checkpointor::sign(const chain::State* state) {
  const std::uint64_t version = state->head().version;
  Result<void> done = co_await parts_.store->tree().flush();
  if (!done) co_return done;
  const auto root = co_await chain::tree_root(&parts_.store->tree(), version + 1);
  if (!root) co_return fail(root.error());
  // Many descriptors take a while to encode.
  auto snapshot = co_await parts_.host.blocking.run(
      kTakeSnapshot, [state = *state] { return chain::take_snapshot(state); });
  if (!snapshot) co_return fail(std::move(snapshot.error()));
  const chain::NoteSigner& signer = parts_.store->signer();
  chain::Checkpoint checkpoint{
      .origin = signer.verifier().name(),
      .root = *root,
      .version = version,
      .hash = state->head().hash,
      .pruned_below = std::max(prune_point(version), parts_.store->log().first()),
      .state = snapshot->hash(),
      .further = {}};
  const auto text = chain::print_checkpoint(checkpoint);
  if (!text) co_return fail(text.error());
  auto note = signer.sign(*text);
  if (!note) co_return fail(std::move(note.error()));
  done = co_await parts_.store->checkpoints().add({std::move(checkpoint), std::move(*note)},
                                                  &*snapshot);
  if (!done) co_return done;
  co_await parts_.store->checkpoints().tidy(parts_.store->log().first(),
                                            parts_.settings->get()->keep_versions);
  co_return done;
}

// The newest checkpoint that leaves enough versions behind it, and whose state is kept.
std::uint64_t Checkpointor::prune_point(std::uint64_t head) const {
  const std::uint64_t keep = parts_.settings->get()->keep_versions;
  if (keep == 0 || head < keep) return 0;
  const CheckpointPtr base = parts_.store->checkpoints().with_state(head - keep);
  return base ? base->checkpoint.version : 0;
}

Task<void> Checkpointor::run_retention(runtime::Shutdown shutdown) {
  for (;;) {
    const auto command = co_await retention_cmd_.recv_or_stop(shutdown);
    if (!command) co_return;
    const auto first = co_await parts_.store->log().drop_below(command->below);
    if (first) {
      parts_.log.info("pruned", {{"first_version", *first}});
    } else {
      parts_.log.warn("a prune failed and is tried again at the next checkpoint",
                      {{"what", first.error().message}});
    }
  }
}

Task<Result<CheckpointPtr>> Checkpointor::covering(std::uint64_t version,
                                                   runtime::Deadline deadline) {
  auto checkpointed = checkpointed_.subscribe();
  for (;;) {
    const CheckpointPtr latest = parts_.store->checkpoints().latest();
    if (latest && latest->checkpoint.size() > version) co_return latest;
    wanted_.set(version + 1);
    const runtime::Waited waited = co_await checkpointed.changed(deadline, {});
    if (waited == runtime::Waited::TimedOut) {
      co_return fail(Code::Timeout,
                     "no checkpoint covers version " + std::to_string(version) + " yet");
    }
    checkpointed.see();
  }
}

}  // namespace ron::registry
