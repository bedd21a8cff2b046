// Metrics as Prometheus reads them: text exposition format 0.0.4.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/meter.h"

namespace ron::observe {

inline constexpr std::string_view kPrometheusContentType =
    "text/plain; version=0.0.4; charset=utf-8";

// Appends every series of the given registries, families by name: a metric that several services
// expose has one HELP and TYPE and a series per service. Two registries that declare one name as
// different kinds are a programming error: the first one's kind is exposed and it asserts.
void append_prometheus(std::string& out, std::span<const runtime::Meters* const> services);

}  // namespace ron::observe
