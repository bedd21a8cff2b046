// Answers of svc-index that hold fractions, which base::Value has not, for people.
#include <string>

#include <nlohmann/json.hpp>

#include "cli/index_read.h"
#include "config/value.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using Json = nlohmann::json;

std::string text_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "";
  return config::printable(found->is_string() ? found->get<std::string>() : found->dump(),
                           catalog::kMaxNameBytes);
}

// `https://one.example:8443  eu-west  0.913  dht  until 2027-01-15T08:00:00Z`
std::string provider_line(const Json& provider) {
  std::string line = text_at(provider, "url");
  for (const char* field : {"region", "score", "source"}) {
    const std::string text = text_at(provider, field);
    line += "  " + (text.empty() ? "-" : text);
  }
  return line + "  until " + text_at(provider, "expires_at") + "\n";
}

bool is_list_of_objects(const Json& json) {
  return json.is_array() &&
         std::ranges::all_of(json, [](const Json& one) { return one.is_object(); });
}

}  // namespace

Result<std::string> providers_text(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!is_list_of_objects(json)) {
    return fail(Code::UpstreamFail, "the server's answer is no list of providers");
  }
  std::string out;
  for (const Json& provider : json) out += provider_line(provider);
  return out;
}

Result<std::string> resolution_text(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const bool sound = json.is_object() && json.contains("address") && json.contains("providers") &&
                     is_list_of_objects(json["providers"]);
  if (!sound) return fail(Code::UpstreamFail, "the server's answer is no resolution");
  std::string out = text_at(json, "address") + "\n";
  if (json.contains("version")) out += "version    " + text_at(json, "version") + "\n";
  const auto manifest = json.find("manifest");
  if (manifest != json.end() && manifest->is_object()) {
    out += "tree       " + text_at(*manifest, "entries") + " entries, " +
           text_at(*manifest, "length") + " bytes\n";
  }
  out += "source     " + text_at(json, "source");
  const std::string winner = text_at(json, "winner");
  if (!winner.empty()) out += ", " + winner + " answered first";
  if (json.value("hedged", false)) out += ", hedged";
  out += "\n";
  for (const Json& provider : json["providers"]) out += "provider   " + provider_line(provider);
  return out;
}

}  // namespace ron::cli
