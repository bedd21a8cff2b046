// What a client sends to set a name.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/value.h"
#include "services/index/entries.h"

namespace ron::index {

// `{"target":"b3:…","type"?,"meta"?,"expected_version"?}`.
struct SetRequest {
  NameVersion wanted;  // without name and tenant
  std::optional<std::uint64_t> expected;
};
// Malformed and BadAddress name the field. Unknown ones are refused.
base::Result<SetRequest> parse_set_request(const base::Value& value);

}  // namespace ron::index
