// The metrics only svc-sample has.
#pragma once

#include <array>

#include "runtime/meter.h"
#include "services/kit/life_metrics.h"

namespace ron::sample::metrics {

inline constexpr kit::LifeMetrics kLife = kit::kLifeMetrics<"sample">;
inline constexpr runtime::MetricDecl kEchoesTotal =
    runtime::declare_counter("sample_echoes_total", "Echoes that came back.");

inline constexpr std::array kAll = {kLife.reload_success, kLife.reload_fail, kLife.draining,
                                    &kEchoesTotal};

}  // namespace ron::sample::metrics
