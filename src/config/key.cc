#include "config/key.h"

#include <array>

namespace ron::config {

std::string_view kind_name(Kind kind) noexcept {
  constexpr std::array<std::string_view, 12> kNames = {
      "bool", "count",     "number",  "size",   "duration",  "rate",
      "text", "text list", "address", "choice", "count map", "records",
  };
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view reload_name(Reload reload) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"hot", "rebind", "restart"};
  return kNames[static_cast<std::size_t>(reload)];
}

void append_under(std::string_view prefix, const Problems& inner, Problems& outer) {
  for (Problem problem : inner.list()) {
    problem.key = std::string(prefix) + problem.key;
    outer.add(std::move(problem));
  }
}

}  // namespace ron::config
