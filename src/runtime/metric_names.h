// The metrics that more than one service exposes, declared once. Service-specific ones are declared
// beside their service. Every series also carries the label `service`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/meter.h"

namespace ron::runtime::metrics {

namespace detail {
inline constexpr std::uint64_t kMs = 1'000'000;  // nanoseconds
inline constexpr std::uint64_t kS = 1000 * kMs;
}  // namespace detail

// Queues and admission.
inline constexpr MetricDecl kQueueDepth =
    declare_gauge("queue_depth", "Items waiting in a bounded queue, sampled.", {"queue"});
inline constexpr MetricDecl kQueueDroppedTotal =
    declare_counter("queue_dropped_total",
                    "Items a full queue refused or dropped, by its overflow policy.", {"queue"});
inline constexpr std::array<std::string_view, 2> kWorkStages = {"queued", "running"};
inline constexpr MetricDecl kWorkAbandonedTotal = declare_counter(
    "work_abandoned_total", "Jobs dropped because nobody waited for their answer any more.",
    {"queue", {"stage", kWorkStages}});
// The index names its entry points routes, the others endpoints; the index fills in both, so that
// a sum by endpoint covers every service.
inline constexpr MetricDecl kBusyRejectionsTotal = declare_counter(
    "busy_rejections_total", "Requests refused because a queue or in-flight limit was full.",
    {"endpoint", "route"});
inline constexpr MetricDecl kRejectedTotal =
    declare_counter("rejected_total", "Requests refused by an ingress stage.", {"reason"});
// `topic` is what was published, `consumer` who fell behind where consumers have names.
inline constexpr MetricDecl kBusLaggedTotal = declare_counter(
    "bus_lagged_total", "Broadcast events a slow consumer missed.", {"topic", "consumer"});

// Tasks.
inline constexpr MetricDecl kTasksSpawnedTotal =
    declare_counter("tasks_spawned_total", "Tasks started.", {"kind"});
inline constexpr MetricDecl kTasksAbortedTotal = declare_counter(
    "tasks_aborted_total", "Tasks cut off after the drain deadline passed.", {"kind"});
inline constexpr MetricDecl kTasksCanceledTotal = declare_counter(
    "tasks_canceled_total", "Tasks that ended early because they were asked to.", {"kind"});
inline constexpr MetricDecl kTasksPanickedTotal =
    declare_counter("tasks_panicked_total", "Tasks ended by an escaped exception.", {"kind"});
inline constexpr MetricDecl kTasksRestartedTotal = declare_counter(
    "tasks_restarted_total", "Failed tasks their supervisor started again.", {"kind"});

// Jobs of the blocking pool, shown by the service in front; `job` is the kind of job.
inline constexpr MetricDecl kBlockingJobsOverdue =
    declare_gauge("blocking_jobs_overdue",
                  "Jobs of the blocking pool that run for longer than their budget.", {"job"});
inline constexpr MetricDecl kBlockingJobsLeftTotal = declare_counter(
    "blocking_jobs_left_total",
    "Jobs of the blocking pool that did not end in time when the process stopped.", {"job"});

// Waiting on others.
inline constexpr MetricDecl kIoTimeoutsTotal = declare_counter(
    "io_timeouts_total", "Operations given up because their deadline passed.", {"op"});
inline constexpr MetricDecl kBackoffRetriesTotal = declare_counter(
    "backoff_retries_total", "Operations tried again after a backoff with jitter.", {"op"});

inline constexpr std::array<std::string_view, 3> kBreakerStates = {"closed", "open", "half_open"};
inline constexpr MetricDecl kBreakerState = declare_gauge(
    "breaker_state", "1 for the state a target's circuit breaker is in, 0 for the other states.",
    {"target", {"state", kBreakerStates}});
inline constexpr MetricDecl kBreakerOpenTotal =
    declare_counter("breaker_open_total",
                    "Calls refused because the target's circuit breaker was open.", {"target"});

inline constexpr std::array<std::uint64_t, 14> kPacingBounds = {
    1 * detail::kMs,    2 * detail::kMs,   5 * detail::kMs,   10 * detail::kMs,  25 * detail::kMs,
    50 * detail::kMs,   100 * detail::kMs, 250 * detail::kMs, 500 * detail::kMs, 1 * detail::kS,
    2500 * detail::kMs, 5 * detail::kS,    10 * detail::kS,   30 * detail::kS};
inline constexpr MetricDecl kRepairWaitSeconds =
    declare_histogram("repair_wait_seconds", "Time repair work waited for its pacing budget.",
                      MetricUnit::kSeconds, kPacingBounds);

// The process' own voice.
inline constexpr MetricDecl kLogDroppedTotal = declare_counter(
    "log_dropped_total", "Log lines dropped because the log queue was full or stopped.");

inline constexpr MetricDecl kAccessLogDroppedTotal = declare_counter(
    "access_log_dropped_total", "Lines of the access log dropped because its queue was full.");

// All of the above, for generated documentation and for tests.
inline constexpr std::array kShared = {&kQueueDepth,
                                       &kQueueDroppedTotal,
                                       &kWorkAbandonedTotal,
                                       &kBusyRejectionsTotal,
                                       &kRejectedTotal,
                                       &kBusLaggedTotal,
                                       &kTasksSpawnedTotal,
                                       &kTasksAbortedTotal,
                                       &kTasksCanceledTotal,
                                       &kTasksPanickedTotal,
                                       &kTasksRestartedTotal,
                                       &kBlockingJobsOverdue,
                                       &kBlockingJobsLeftTotal,
                                       &kIoTimeoutsTotal,
                                       &kBackoffRetriesTotal,
                                       &kBreakerState,
                                       &kBreakerOpenTotal,
                                       &kRepairWaitSeconds,
                                       &kLogDroppedTotal,
                                       &kAccessLogDroppedTotal};

}  // namespace ron::runtime::metrics
