#include "services/registry/budget.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "chain/checkpoint_files.h"
#include "chain/frame_log.h"
#include "chain/segment_table.h"
#include "chain/tlog_tree.h"
#include "services/registry/checkpoints.h"
#include "services/registry/events.h"
#include "services/registry/jobs.h"
#include "services/registry/list_bounds.h"
#include "services/registry/planner.h"

namespace ron::registry {
namespace {

constexpr std::uint64_t kListeners = 2;
// The log and the journal of what is pending.
constexpr std::uint64_t kLogs = 2;
// One is served, one is being made into a snapshot, and that is its bytes once more.
constexpr std::uint64_t kStates = 3;
// Frames of a batch: the payloads that make them, and their bytes as they are written.
constexpr std::uint64_t kBatchCopies = 2;
// A frame of the log is an entry with its approvals, and of the journal an approval at least.
constexpr std::uint64_t kSmallFrameBytes = 128;
constexpr std::uint64_t kOffsetBytes = sizeof(std::uint32_t);
// A proposal besides its payload: names, texts and the approvals of all signers, rounded up.
constexpr std::uint64_t kProposalBytes = 16 * base::kKiB;
// The texts of an event, and what an event stream keeps besides its connection, rounded up.
constexpr std::uint64_t kEventTextBytes = 256;
constexpr std::uint64_t kStreamBytes = 4 * base::kKiB;
// A hash in every level above the leaves is a 255th.
constexpr std::uint64_t kLeafBytes = sizeof(chain::TreeHash) + 1;
// A commit that can be asked for again, and an expired proposal, each with its place.
constexpr std::uint64_t kRecentBytes = 256;
constexpr std::uint64_t kRecentKinds = 2;

constexpr std::uint64_t kDescriptorsPerCore = 8;
constexpr std::uint64_t kDescriptorsOfProcess = 32;

}  // namespace

std::vector<kit::Addend> memory_budget(const RegistryConfig& config, std::size_t cores) {
  const std::uint64_t proposals = config.proposals_max + ProposalRules::kReserved;
  std::vector<kit::Addend> sum = {
      {"the state, and a snapshot of it in the making", kStates, chain::kMaxSnapshotBytes},
      {"states of the past that are being made", bounds::kStatesAtOnce, chain::kMaxSnapshotBytes},
      {"payloads of pending proposals (registry.proposals.max_pending)", 1,
       std::min<std::uint64_t>(kMaxPendingBytes + kReservedBytes,
                               proposals * chain::kMaxPayloadBytes)},
      {"pending proposals (registry.proposals.max_pending)", proposals, kProposalBytes},
      {"proposals and commits that wait (registry.channels.proposals)", config.proposals_capacity,
       sizeof(std::optional<ProposalJob>)},
      {"approvals that wait (registry.channels.approvals)", config.approvals_capacity,
       sizeof(std::optional<ApprovalJob>)},
      {"a batch being made durable", kBatchCopies, chain::kMaxBatchBytes},
      {"leaves of the tree since the last checkpoint (registry.storage.checkpoint_versions)",
       config.storage.checkpoint_versions, kLeafBytes},
      {"where the frames of segments are (registry.storage.segment_bytes)",
       kLogs * (chain::RecentTables::kTables + 1),
       config.storage.segment_bytes.bytes / kSmallFrameBytes * kOffsetBytes},
      {"checkpoints", Checkpoints::kMost, chain::kMaxCheckpointBytes},
      {"proposals that were withdrawn", RecentlyWithdrawn::kMost, kRecentBytes},
      {"commits that can be asked for again", kRecentKinds * RecentCommits::kMost, kRecentBytes},
      {"versions for slow listeners (registry.channels.committed)", config.committed_capacity,
       sizeof(Committed)},
      {"events (registry.channels.events)", config.events_capacity,
       sizeof(RegistryEvent) + kEventTextBytes},
      {"event streams (registry.sse.max_streams)", config.streams.most, kStreamBytes},
  };
  std::ranges::move(kit::listener_budget("registry", config, cores), std::back_inserter(sum));
  return sum;
}

std::uint64_t descriptors_needed(const RegistryConfig& config, std::size_t cores) noexcept {
  return kListeners * config.server.max_conns + kLogs * (chain::RecentTables::kTables + 1) +
         chain::kTileLevels + cores * kDescriptorsPerCore + kDescriptorsOfProcess;
}

}  // namespace ron::registry
