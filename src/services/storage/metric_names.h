// The metrics only svc-storage has.
#pragma once

#include <array>

#include "config/reload.h"
#include "runtime/meter.h"

namespace ron::storage::metrics {

inline constexpr std::array<std::string_view, 5> kReloadReasons = {
    "parse", "invalid", "restart_required", "io", "rebind"};

inline constexpr runtime::MetricDecl kReloadSuccessTotal = runtime::declare_counter(
    "storage_reload_success_total", "Configuration reloads that took effect.");
inline constexpr runtime::MetricDecl kReloadFailTotal = runtime::declare_counter(
    "storage_reload_fail_total", "Configuration reloads refused; the old configuration stayed.",
    {{"reason", kReloadReasons}});
inline constexpr runtime::MetricDecl kObjects =
    runtime::declare_gauge("storage_objects", "Objects stored.");
inline constexpr runtime::MetricDecl kMemoryBytes =
    runtime::declare_gauge("storage_memory_bytes", "Memory taken by objects.");
inline constexpr runtime::MetricDecl kMemoryLimitBytes =
    runtime::declare_gauge("storage_memory_limit_bytes", "Memory objects may take.");
inline constexpr runtime::MetricDecl kDraining =
    runtime::declare_gauge("storage_draining", "1 from the stop signal on, else 0.");

inline constexpr std::array kAll = {&kReloadSuccessTotal, &kReloadFailTotal,  &kObjects,
                                    &kMemoryBytes,        &kMemoryLimitBytes, &kDraining};

}  // namespace ron::storage::metrics
