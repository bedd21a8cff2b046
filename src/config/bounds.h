// Hard bounds and safety bounds of a key.
#pragma once

#include <optional>
#include <string>

#include "config/key.h"
#include "config/problem.h"
#include "config/value.h"

namespace ron::config {

struct Violation {
  Problem::Kind kind;  // OutOfBounds or NeedsDangerOk
  std::string what;
};

// The first bound the value breaks, the hard ones before the safety ones. A secret value is not
// quoted in `what`.
std::optional<Violation> check_bounds(const KeyDecl& decl, const Value& value, bool danger_ok);

// Whether `text` can be compared with values of the declaration's kind.
bool is_bound(const KeyDecl& decl, const std::string& text);
// Whether `low` is at most `high`; an empty bound is in order with every other.
bool bounds_ordered(const KeyDecl& decl, const std::string& low, const std::string& high);

// `1KiB to 1MiB (above 512KiB only with safety.danger_ok)`, `one of json, text`, or empty.
std::string allowed_text(const KeyDecl& decl);

}  // namespace ron::config
