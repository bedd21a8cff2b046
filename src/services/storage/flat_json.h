// What clients send as JSON: one object whose members are no containers.
#pragma once

#include <optional>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace ron::storage {

// Nothing if it is anything else, or repeats a member.
std::optional<nlohmann::json> parse_flat_object(std::string_view text);

}  // namespace ron::storage
