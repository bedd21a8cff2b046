// The metrics only svc-storage has.
#pragma once

#include <array>

#include "runtime/meter.h"
#include "runtime/metric_names.h"
#include "services/kit/life_metrics.h"

namespace ron::storage::metrics {

inline constexpr kit::LifeMetrics kLife = kit::kLifeMetrics<"storage">;
inline constexpr runtime::MetricDecl kObjects =
    runtime::declare_gauge("storage_objects", "Objects stored.");
inline constexpr runtime::MetricDecl kObjectBytes =
    runtime::declare_gauge("storage_object_bytes", "Bytes of the objects stored.");
inline constexpr runtime::MetricDecl kFreeBytes =
    runtime::declare_gauge("storage_free_bytes", "Room left for objects.");
inline constexpr runtime::MetricDecl kUploadsOpen =
    runtime::declare_gauge("storage_uploads_open", "Uploads begun and not ended.");
inline constexpr runtime::MetricDecl kQuarantined = runtime::declare_gauge(
    "storage_quarantined_objects", "Objects withheld because stored bytes did not verify.");
inline constexpr runtime::MetricDecl kTenantBytes = runtime::declare_gauge(
    "storage_tenant_bytes", "Bytes of the objects each of the largest tenants holds.", {"tenant"});
inline constexpr runtime::MetricDecl kTenantObjects = runtime::declare_gauge(
    "storage_tenant_objects", "Objects each of the largest tenants holds.", {"tenant"});
inline constexpr runtime::MetricDecl kUnreadableBytes = runtime::declare_gauge(
    "storage_unreadable_bytes",
    "Bytes of segments that the disk did not give when the index was made or brought up to date.");
inline constexpr runtime::MetricDecl kMemoryBytes =
    runtime::declare_gauge("storage_memory_bytes", "Memory taken by objects.");
inline constexpr runtime::MetricDecl kMemoryLimitBytes =
    runtime::declare_gauge("storage_memory_limit_bytes", "Memory objects may take.");
inline constexpr runtime::MetricDecl kIntegrityFailTotal = runtime::declare_counter(
    "integrity_fail_total", "Reads that found stored bytes not to match their address.");
inline constexpr runtime::MetricDecl kCacheHitsTotal =
    runtime::declare_counter("storage_cache_hits_total", "Reads answered from the memory tier.");
inline constexpr runtime::MetricDecl kCacheMissesTotal = runtime::declare_counter(
    "storage_cache_misses_total", "Reads of stored objects that were not in the memory tier.");
inline constexpr runtime::MetricDecl kLoadsJoinedTotal = runtime::declare_counter(
    "storage_loads_joined_total", "Of those, the ones that waited for a load under way.");
inline constexpr runtime::MetricDecl kReadBytesTotal = runtime::declare_counter(
    "storage_read_bytes_total", "Verified bytes read from volumes by the get workers.");
inline constexpr runtime::MetricDecl kStoredBytesTotal =
    runtime::declare_counter("storage_stored_bytes_total", "Bytes of new objects stored.");
inline constexpr runtime::MetricDecl kAnnouncedTotal = runtime::declare_counter(
    "storage_announced_total", "Records of stored objects that an index has taken.");
inline constexpr runtime::MetricDecl kWithdrawnTotal = runtime::declare_counter(
    "storage_withdrawn_total", "Records of removed objects that an index has taken.");
inline constexpr runtime::MetricDecl kAnnounceBacklog = runtime::declare_gauge(
    "storage_announce_backlog", "Objects stored or removed that an index has not heard of.");
inline constexpr runtime::MetricDecl kAnnounceLagSeconds = runtime::declare_gauge(
    "storage_announce_lag_seconds",
    "How long the oldest of what an index has not heard has waited, a list of all under way "
    "included.");
inline constexpr runtime::MetricDecl kAnnounceFailuresTotal = runtime::declare_counter(
    "storage_announce_failures_total", "Batches that an index did not take; they are sent again.");
inline constexpr runtime::MetricDecl kAnnounceStaleTotal = runtime::declare_counter(
    "storage_announce_stale_total",
    "Records that an index did not need because it has newer ones of this node.");
inline constexpr runtime::MetricDecl kWithdrawalsLostTotal = runtime::declare_counter(
    "storage_withdrawals_lost_total",
    "Removed objects that found no room in the backlog; their records end with their time.");
inline constexpr runtime::MetricDecl kAnnounceWaitSeconds = runtime::declare_histogram(
    "storage_announce_wait_seconds", "Time a batch of records waited for announce.rps.",
    runtime::MetricUnit::kSeconds, runtime::metrics::kPacingBounds);

inline constexpr std::array kAll = {kLife.reload_success,
                                    kLife.reload_fail,
                                    &kObjects,
                                    &kObjectBytes,
                                    &kFreeBytes,
                                    &kUploadsOpen,
                                    &kQuarantined,
                                    &kTenantBytes,
                                    &kTenantObjects,
                                    &kUnreadableBytes,
                                    &kMemoryBytes,
                                    &kMemoryLimitBytes,
                                    kLife.draining,
                                    &kIntegrityFailTotal,
                                    &kCacheHitsTotal,
                                    &kCacheMissesTotal,
                                    &kLoadsJoinedTotal,
                                    &kReadBytesTotal,
                                    &kStoredBytesTotal,
                                    &kAnnouncedTotal,
                                    &kWithdrawnTotal,
                                    &kAnnounceBacklog,
                                    &kAnnounceLagSeconds,
                                    &kAnnounceFailuresTotal,
                                    &kAnnounceStaleTotal,
                                    &kWithdrawalsLostTotal,
                                    &kAnnounceWaitSeconds};

}  // namespace ron::storage::metrics
