#include "services/registry/core.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "chain/proof.h"
#include "runtime/metric_names.h"
#include "services/registry/list_bounds.h"
#include "services/registry/wires.h"

namespace ron::registry {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::size_t kReadBytes = 1 * base::kMiB;
constexpr std::size_t kReplayVersions = 512;
constexpr platform::BlockingKind kVerifyApproval{"verify_approval", std::chrono::seconds(5)};
constexpr platform::BlockingKind kMakePastState{"make_past_state", std::chrono::minutes(1)};
constexpr platform::BlockingKind kPrintProof{"print_proof", std::chrono::seconds(30)};

// A quarter, unless the configuration says how many.
constexpr std::uint64_t kTenants = 4;

ProposalRules rules_of(const RegistryConfig& config) {
  const std::uint64_t share = config.proposals_max_per_tenant != 0
                                  ? config.proposals_max_per_tenant
                                  : std::max<std::uint64_t>(1, config.proposals_max / kTenants);
  return {std::chrono::duration_cast<std::chrono::milliseconds>(config.proposals_ttl).count(),
          config.proposals_max, share};
}

}  // namespace

Core::Core(CoreParts parts, std::shared_ptr<const RegistryConfig> config)
    : parts_(std::move(parts)),
      settings_(*parts_.topology, kSettings, config),
      committed_(*parts_.topology, kCommitted, config->committed_capacity),
      events_(*parts_.topology, kEvents, config->events_capacity),
      updated_(*parts_.topology, kUpdated, {}),
      cfg_reload_(*parts_.topology, kCfgReload, config->cfg_reload_capacity),
      store_(parts_.host, parts_.disk, parts_.store),
      committer_({parts_.host, parts_.topology, &store_.log(), &store_.journal(), &store_.tree(),
                  &views_, &committed_, &events_, parts_.log},
                 {config->proposals_capacity, config->approvals_capacity}),
      verifier_({parts_.host, parts_.topology, &store_, &committed_, &settings_, parts_.log}),
      checkpointor_({parts_.host, parts_.topology, &store_, &views_, &committer_, &verifier_,
                     &settings_, parts_.log},
                    config->retention_capacity),
      streams_(parts_.topology->meters(), config->streams),
      states_(bounds::kStatesAtOnce),
      timeouts_(parts_.topology->meters().counter(runtime::metrics::kIoTimeoutsTotal, {"commit"})) {
  committer_.set_rules(rules_of(*config));
  committer_.on_published([this](std::uint64_t version) { checkpointor_.note_head(version); });
  // So that what a stream misses is there from the start.
  static_cast<void>(committed_.subscribe("stream"));
}

Task<Result<bool>> Core::open() {
  auto opened = co_await store_.open();
  if (!opened) co_return fail(std::move(opened.error()));
  for (const auto& [proposal, head] : opened->recent) committer_.add_recent(proposal, head);
  verifier_.set_found_below(opened->is_new ? 0 : store_.log().next());
  for (Withdrawn& one : opened->withdrawn) committer_.add_withdrawn(std::move(one));
  for (std::string& proposal : opened->gone) committer_.add_gone(std::move(proposal));
  updated_.set(opened->state.head());
  views_.start(std::move(opened->state), std::move(opened->pending));
  co_return opened->is_new;
}

void Core::apply(std::shared_ptr<const RegistryConfig> config) {
  static_cast<void>(cfg_reload_.try_send(std::move(config)));
}

Task<void> Core::run_config_reloader(runtime::Shutdown shutdown) {
  for (;;) {
    auto config = co_await cfg_reload_.recv_or_stop(shutdown);
    if (!config) co_return;
    committer_.set_rules(rules_of(**config));
    streams_.apply((*config)->streams);
    settings_.set(std::move(*config));
  }
}

void Core::count_timeout(const base::Error& why) {
  if (why.code == Code::Timeout) timeouts_.add();
}

Result<void> Core::check_sound() const {
  if (!verifier_.found_damage()) return {};
  return fail(Code::Degraded, "the log does not verify: nothing is added to it");
}

Task<Result<Proposal>> Core::propose(base::Value value, Origin origin, runtime::Deadline deadline) {
  if (auto sound = check_sound(); !sound) co_return fail(std::move(sound.error()));
  auto parsed = chain::parse_payload(value);
  if (!parsed) {
    committer_.note_refused_proposal(origin, parsed.error());
    co_return fail(std::move(parsed.error()));
  }
  ProposeJob job;
  job.deadline = deadline;
  job.payload = base::encode_cbor(value);
  job.parsed = std::move(*parsed);
  job.origin = std::move(origin);
  auto done = co_await committer_.proposals().ask(std::move(job), kit::WhenFull::Refuse);
  if (!done) count_timeout(done.error());
  co_return done;
}

// The id of a signer is made of its key: what verified now is good whatever is committed meanwhile.
Result<chain::Signer> Core::signer_for(const chain::State& state, const Proposed& what,
                                       std::string_view id) const {
  // A change that does not fit HEAD any more says nothing about who will decide.
  if (auto good = state.check(what.parsed); !good) return fail(std::move(good.error()));
  auto refusal = state.refusal_of(what.parsed.change, id, parts_.host.clock.unix_ms());
  if (refusal) return fail(std::move(*refusal));
  return *state.signer_of(what.parsed.change, id);
}

Task<Result<std::shared_ptr<const Proposed>>> Core::verify(ProposalPtr proposal,
                                                           chain::Approval approval,
                                                           Origin origin) {
  const Proposed& what = *proposal->what;
  const std::string id(what.id.text());
  const StatePtr state = views_.state();
  const auto signer = signer_for(*state, what, approval.signer);
  if (!signer) {
    committer_.note_refused_approval(id, approval.signer, origin, signer.error());
    co_return fail(signer.error());
  }
  const auto key = signer_keys_.get(*signer);
  if (!key) co_return fail(key.error());
  std::string text = chain::approval_text(state->log(), id, what.payload_b3, what.expires_ms);
  const auto verified = co_await parts_.host.blocking.run(
      kVerifyApproval, [key = *key, text = std::move(text), signature = approval.signature] {
        return key.verify(base::as_bytes(text), signature);
      });
  if (!verified) co_return fail(verified.error());
  if (*verified) co_return proposal->what;
  base::Error why(Code::InvalidSig, "the signature is not signer " + approval.signer +
                                        "'s of this proposal; sign exactly the text under "
                                        "\"sign\"");
  committer_.note_refused_approval(id, approval.signer, origin, why);
  co_return fail(std::move(why));
}

// The committer gets an approval only with the proposal that its signature was verified over. Of a
// proposal that readers do not see it is asked why that is, and the approval ends here.
Task<Result<Approved>> Core::approve(std::string id, chain::Approval approval, Origin origin,
                                     runtime::Deadline deadline) {
  if (auto sound = check_sound(); !sound) co_return fail(std::move(sound.error()));
  ProposalPtr proposal = views_.proposal(id);
  if (!proposal) {
    ExplainJob job;
    job.deadline = deadline;
    job.id = std::move(id);
    job.signer = std::move(approval.signer);
    job.origin = std::move(origin);
    auto why = co_await committer_.approvals().ask(std::move(job), kit::WhenFull::Refuse);
    if (!why) count_timeout(why.error());
    co_return why;
  }
  auto verified = co_await verify(std::move(proposal), approval, origin);
  if (!verified) co_return fail(std::move(verified.error()));
  ApproveJob job;
  job.deadline = deadline;
  job.id = std::move(id);
  job.approval = std::move(approval);
  job.verified = std::move(*verified);
  job.origin = std::move(origin);
  auto done = co_await committer_.approvals().ask(std::move(job), kit::WhenFull::Refuse);
  if (!done) count_timeout(done.error());
  co_return done;
}

Task<Result<TakenBackBy>> Core::withdraw(std::string id, bool may_govern, Origin origin,
                                         runtime::Deadline deadline) {
  if (auto sound = check_sound(); !sound) co_return fail(std::move(sound.error()));
  WithdrawJob job;
  job.deadline = deadline;
  job.id = std::move(id);
  job.may_govern = may_govern;
  job.origin = std::move(origin);
  auto done = co_await committer_.proposals().ask(std::move(job), kit::WhenFull::Refuse);
  if (!done) count_timeout(done.error());
  co_return done;
}

Task<Result<CommittedAs>> Core::commit(std::string id, Origin origin, runtime::Deadline deadline) {
  if (auto sound = check_sound(); !sound) co_return fail(std::move(sound.error()));
  CommitJob job;
  job.deadline = deadline;
  job.id = std::move(id);
  job.origin = std::move(origin);
  auto done = co_await committer_.proposals().ask(std::move(job), kit::WhenFull::Refuse);
  if (!done) count_timeout(done.error());
  co_return done;
}

base::Error Core::pruned(std::uint64_t version) {
  base::Error error(Code::Pruned, "version " + std::to_string(version) + " was pruned");
  const CheckpointPtr covering = store_.checkpoints().covering(version);
  if (!covering) return error;
  return std::move(error)
      .with("checkpoint", std::to_string(covering->checkpoint.version))
      .with("first_version", std::to_string(store_.log().first()));
}

Task<Result<std::vector<StoredVersion>>> Core::versions(std::uint64_t first, std::size_t count) {
  const std::uint64_t head = views_.head()->head.version;
  if (first > head) {
    co_return fail(Code::NotFound, "there is no version " + std::to_string(first) + "; HEAD is " +
                                       std::to_string(head));
  }
  if (first < store_.log().first()) co_return fail(pruned(first));
  // What is written and not yet published is nobody's business.
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(count, head + 1 - first));
  auto frames = co_await store_.log().read(first, most, kReadBytes);
  if (!frames && frames.error().code == Code::NotFound) co_return fail(pruned(first));
  if (!frames) co_return fail(std::move(frames.error()));
  std::vector<StoredVersion> versions;
  versions.reserve(frames->size());
  for (std::string& bytes : *frames) {
    const base::ObjectId hash = chain::hash_of(base::as_bytes(bytes));
    versions.push_back({{first + versions.size(), hash}, std::move(bytes)});
  }
  co_return versions;
}

// Made in the blocking pool, a few at a time: a snapshot may be large, and versions many.
Task<Result<StatePtr>> Core::state_at(std::uint64_t version, runtime::Deadline deadline) {
  const StatePtr head = views_.state();
  if (version == head->head().version) co_return head;
  if (version > head->head().version) co_return fail(Code::NotFound, "there is no such version");
  const runtime::Limit::Permit place = states_.try_acquire();
  if (!place) {
    co_return fail(base::Error(Code::Busy, "too many states of the past are being made")
                       .with("states", std::to_string(states_.most())));
  }
  chain::State state;
  const CheckpointPtr base = store_.checkpoints().with_state(version);
  if (base) {
    auto snapshot = co_await store_.checkpoints().read_snapshot(base->checkpoint.version);
    if (!snapshot) co_return fail(std::move(snapshot.error()));
    auto restored =
        co_await parts_.host.blocking.run(kMakePastState, [snapshot = std::move(*snapshot)] {
          return chain::restore(snapshot, chain::Signatures::Trust);
        });
    if (!restored) co_return fail(std::move(restored.error()));
    if (!*restored) co_return fail(std::move(restored->error()));
    state = std::move(**restored);
  } else if (store_.log().first() != 0) {
    co_return fail(pruned(version));
  }
  while (state.is_empty() || state.head().version < version) {
    if (deadline.passed()) co_return fail(Code::Timeout, "there are too many versions to replay");
    const std::uint64_t next = state.is_empty() ? 0 : state.head().version + 1;
    auto stored =
        co_await versions(next, std::min<std::uint64_t>(kReplayVersions, version + 1 - next));
    if (!stored) co_return fail(std::move(stored.error()));
    auto taken = co_await parts_.host.blocking.run(
        kMakePastState,
        [state = std::move(state),
         stored = std::move(*stored)](const base::StopToken& stop) mutable -> Result<chain::State> {
          for (const StoredVersion& one : stored) {
            if (stop.requested()) return fail(stop.error());
            auto good =
                chain::take_next(state, base::as_bytes(one.bytes), chain::Signatures::Trust);
            if (!good) return fail(Code::IntegrityFail, good.error().message);
          }
          return std::move(state);
        });
    if (!taken) co_return fail(std::move(taken.error()));
    if (!*taken) co_return fail(std::move(taken->error()));
    state = std::move(**taken);
  }
  co_return std::make_shared<const chain::State>(std::move(state));
}

Task<Result<std::string>> Core::proof(std::uint64_t version, runtime::Deadline deadline) {
  const auto stored = co_await versions(version, 1);
  if (!stored) co_return fail(stored.error());
  const auto covering = co_await checkpointor_.covering(version, deadline);
  if (!covering) co_return fail(covering.error());
  const chain::Checkpoint& checkpoint = (*covering)->checkpoint;
  auto inclusion = co_await chain::inclusion_proof(&store_.tree(), version, checkpoint.size());
  if (!inclusion) co_return fail(std::move(inclusion.error()));
  auto summary = co_await store_.checkpoints().read_summary(*covering);
  if (!summary) co_return fail(std::move(summary.error()));
  const std::size_t bytes = summary->size() + stored->front().bytes.size();
  chain::Proof made{.version = version,
                    .entry = stored->front().bytes,
                    .inclusion = std::move(*inclusion),
                    .checkpoint = (*covering)->note,
                    .vkey = vkey(),
                    .summary = std::move(*summary)};
  if (bytes <= bounds::kInlineBytes) co_return chain::print(made);
  co_return co_await parts_.host.blocking.run(
      kPrintProof, [made = std::move(made)] { return chain::print(made); });
}

// It stops last: what the files say then is all there will be.
Task<void> Core::run_committer(runtime::Shutdown shutdown) {
  co_await committer_.run(shutdown);
  co_await store_.close();
}
Task<void> Core::run_checkpointor(runtime::Shutdown shutdown) {
  return checkpointor_.run(std::move(shutdown));
}
Task<void> Core::run_retention(runtime::Shutdown shutdown) {
  return checkpointor_.run_retention(std::move(shutdown));
}
Task<void> Core::run_verifier(runtime::Shutdown shutdown) {
  return verifier_.run(std::move(shutdown));
}

// What it misses does not matter: HEAD is what counts.
Task<void> Core::run_publisher(runtime::Shutdown shutdown) {
  auto committed = committed_.subscribe("publisher");
  // After a restart: of what was committed meanwhile.
  updated_.set(views_.head()->head);
  for (;;) {
    const auto received = co_await committed.recv_or_stop(shutdown);
    if (!received) co_return;
    updated_.set(views_.head()->head);
  }
}

std::vector<std::string> Core::missing_for_writes() const {
  std::vector<std::string> missing;
  if (committer_.is_broken()) missing.emplace_back("the log is being repaired");
  if (committer_.writing_for() > settings_.get()->storage.slow_after) {
    missing.emplace_back("the disk is slow");
  }
  if (verifier_.found_damage()) missing.emplace_back("the log does not verify");
  return missing;
}

std::uint64_t Core::signer_expiry_s() const {
  const StatePtr state = views_.state();
  const chain::SignerSet& set = state->governance().set;
  std::vector<std::int64_t> ends;
  for (const chain::Signer& signer : set.signers) {
    ends.push_back(signer.not_after_s.value_or(std::numeric_limits<std::int64_t>::max()));
  }
  std::ranges::sort(ends, std::greater());
  if (ends.size() < set.threshold || set.threshold == 0) return 0;
  const std::int64_t last = ends[set.threshold - 1];
  if (last == std::numeric_limits<std::int64_t>::max()) return static_cast<std::uint64_t>(last);
  const std::int64_t now = parts_.host.clock.unix_ms() / 1000;
  return last <= now ? 0 : static_cast<std::uint64_t>(last - now);
}

}  // namespace ron::registry
