// The metrics of a service's life, under the service's own name: `storage_reload_success_total`.
//
//   inline constexpr auto kLife = kit::kLifeMetrics<"storage">;
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "runtime/meter.h"

namespace ron::kit {

// Text as a template argument.
template <std::size_t kSize>
struct FixedText {
  std::array<char, kSize> text{};

  consteval FixedText(const char (&from)[kSize]) { std::copy_n(from, kSize, text.begin()); }
  [[nodiscard]] constexpr std::string_view view() const { return {text.data(), kSize - 1}; }
};

namespace detail {

inline constexpr std::array<std::string_view, 5> kReloadReasons = {
    "parse", "invalid", "restart_required", "io", "rebind"};

// `<service><suffix>`, in memory of its own.
template <FixedText kService, FixedText kSuffix>
struct Joined {
  static constexpr std::size_t kSize = kService.view().size() + kSuffix.view().size();
  static constexpr std::array<char, kSize> kText = [] {
    std::array<char, kSize> out{};
    std::ranges::copy(kSuffix.view(), std::ranges::copy(kService.view(), out.begin()).out);
    return out;
  }();
  static constexpr std::string_view kView{kText.data(), kSize};
};

template <FixedText kService>
struct LifeDecls {
  static constexpr runtime::MetricDecl kReloadSuccess = runtime::declare_counter(
      Joined<kService, "_reload_success_total">::kView, "Configuration reloads that took effect.");
  static constexpr runtime::MetricDecl kReloadFail = runtime::declare_counter(
      Joined<kService, "_reload_fail_total">::kView,
      "Configuration reloads refused; the old configuration stayed.", {{"reason", kReloadReasons}});
  static constexpr runtime::MetricDecl kDraining = runtime::declare_gauge(
      Joined<kService, "_draining">::kView, "1 from the stop signal on, else 0.");
};

}  // namespace detail

struct LifeMetrics {
  const runtime::MetricDecl* reload_success;
  const runtime::MetricDecl* reload_fail;
  const runtime::MetricDecl* draining;

  [[nodiscard]] constexpr std::array<const runtime::MetricDecl*, 3> all() const {
    return {reload_success, reload_fail, draining};
  }
};

template <FixedText kService>
inline constexpr LifeMetrics kLifeMetrics{&detail::LifeDecls<kService>::kReloadSuccess,
                                          &detail::LifeDecls<kService>::kReloadFail,
                                          &detail::LifeDecls<kService>::kDraining};

}  // namespace ron::kit
