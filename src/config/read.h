// One raw value against one declaration: type, then bounds, then safety bounds.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "config/key.h"
#include "config/problem.h"
#include "config/value.h"

namespace ron::config {

// Bounds that hold whatever a key declares.
inline constexpr std::size_t kMaxTextBytes = 4096;
inline constexpr std::size_t kMaxItems = 1024;

// Which key is read and from where; problems go to `problems`.
struct ReadContext {
  std::string key;  // full path, for messages
  Source source;
  bool danger_ok = false;
  Problems& problems;
};

// The typed value, or nothing after at least one problem was added. The texts of secret keys never
// enter a problem.
std::optional<Value> read_value(const KeyDecl& decl, const Raw& raw, const ReadContext& context);

}  // namespace ron::config
