// The metrics only svc-registry has.
#pragma once

#include <array>
#include <string_view>

#include "runtime/meter.h"
#include "services/kit/life_metrics.h"

namespace ron::registry::metrics {

inline constexpr kit::LifeMetrics kLife = kit::kLifeMetrics<"registry">;

inline constexpr runtime::MetricDecl kCommitCasFail = runtime::declare_counter(
    "commit_cas_fail_total", "Commits refused because HEAD was not what they wanted it to be.");
inline constexpr runtime::MetricDecl kCommits =
    runtime::declare_counter("registry_commits_total", "Versions committed.");
inline constexpr runtime::MetricDecl kSyncs = runtime::declare_counter(
    "registry_syncs_total", "Batches made durable; several commits share one.");
inline constexpr std::array<std::string_view, 4> kActions = {"propose", "approve", "commit",
                                                             "withdraw"};
inline constexpr runtime::MetricDecl kRefused = runtime::declare_counter(
    "registry_refused_total", "Proposals, approvals, commits and withdrawals refused by the rules.",
    {{"action", kActions}});
inline constexpr std::array<std::string_view, 1> kBackoffOps = {"commit"};
inline constexpr runtime::MetricDecl kStorageBackoff = runtime::declare_counter(
    "storage_backoff_total", "Waits before the disk was tried again.", {{"op", kBackoffOps}});
inline constexpr runtime::MetricDecl kVersion =
    runtime::declare_gauge("registry_head_version", "The version of HEAD.");
inline constexpr runtime::MetricDecl kFirstVersion = runtime::declare_gauge(
    "registry_first_version", "The oldest version that is kept; those before it were pruned.");
inline constexpr runtime::MetricDecl kPending =
    runtime::declare_gauge("registry_pending_proposals", "Proposals that wait for approvals.");
inline constexpr runtime::MetricDecl kCheckpointVersion = runtime::declare_gauge(
    "registry_checkpoint_version", "The version of the last signed checkpoint.");
inline constexpr runtime::MetricDecl kVerifiedVersion = runtime::declare_gauge(
    "registry_verified_version", "Up to where the log was verified since the start.");
inline constexpr runtime::MetricDecl kVerifyFailures = runtime::declare_counter(
    "registry_verify_failures_total", "Versions found damaged or forged by the verifier.");
inline constexpr runtime::MetricDecl kStreams =
    runtime::declare_gauge("registry_streams", "Event streams open now.");
inline constexpr runtime::MetricDecl kSignerExpiry = runtime::declare_gauge(
    "registry_signer_expiry_seconds",
    "Time until so many keys have expired that no quorum is left; 0 if it is past, and 2^63 - 1 if "
    "never.");

inline constexpr std::array kAll = {kLife.reload_success,
                                    kLife.reload_fail,
                                    kLife.draining,
                                    &kCommitCasFail,
                                    &kCommits,
                                    &kSyncs,
                                    &kRefused,
                                    &kStorageBackoff,
                                    &kVersion,
                                    &kFirstVersion,
                                    &kPending,
                                    &kCheckpointVersion,
                                    &kVerifiedVersion,
                                    &kVerifyFailures,
                                    &kStreams,
                                    &kSignerExpiry};

}  // namespace ron::registry::metrics
