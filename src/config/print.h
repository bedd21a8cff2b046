// Typed values as text. Neither function hides secrets: callers that show values do (render.h).
#pragma once

#include <string>

#include "config/key.h"
#include "config/value.h"

namespace ron::config {

// The value as TOML source: `"1MiB"`, `500`, `["a", "b"]`. Reading it back gives the same value.
std::string toml_text(const KeyDecl& decl, const Value& value);
// The value for people: as TOML, but units, addresses and choices without quotes.
std::string plain_text(const KeyDecl& decl, const Value& value);

}  // namespace ron::config
