#include "services/storage/flat_json.h"

#include <set>
#include <string>

#include <nlohmann/json.hpp>

namespace ron::storage {

std::optional<nlohmann::json> parse_flat_object(std::string_view text) {
  using Json = nlohmann::json;
  std::set<std::string> seen;
  bool repeated = false;
  bool deep = false;
  const auto look = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    deep = deep || depth > 1;
    if (event == Json::parse_event_t::key) {
      repeated = repeated || !seen.insert(parsed.get<std::string>()).second;
    }
    return !deep;
  };
  Json json = Json::parse(text.begin(), text.end(), look, /*allow_exceptions=*/false);
  if (json.is_discarded() || repeated || deep || !json.is_object()) return std::nullopt;
  return json;
}

}  // namespace ron::storage
