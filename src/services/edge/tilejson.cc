#include "services/edge/tilejson.h"

#include <array>
#include <cstddef>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "http/field_list.h"

namespace ron::edge {
namespace {

using nlohmann::json;

// Further in than vector_layers[].fields has anything.
constexpr int kMaxDepth = 8;
// Of one text in the metadata.
constexpr std::size_t kTextBytes = 64 * 1024;
constexpr std::array<std::string_view, 5> kKept = {"name", "description", "attribution", "version",
                                                   "vector_layers"};

// Only what is used is kept in memory; tile statistics alone can be megabytes.
json read_metadata(const std::string& text) {
  const auto keep = [](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) return false;
    if (event != json::parse_event_t::key || depth != 1) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    return std::ranges::find(kKept, key) != kKept.end();
  };
  json metadata = json::parse(text, keep, false);
  return metadata.is_object() ? metadata : json::object();
}

std::optional<std::string> text_of(const json& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end() || !found->is_string()) return std::nullopt;
  const auto& text = found->get_ref<const std::string&>();
  if (text.empty() || text.size() > kTextBytes) return std::nullopt;
  return text;
}

// Each layer has an id and a map of fields; clients rely on both.
json layers_of(const json& metadata) {
  json layers = json::array();
  const auto found = metadata.find("vector_layers");
  if (found == metadata.end() || !found->is_array()) return layers;
  for (const json& one : *found) {
    if (!one.is_object() || !one.contains("id") || !one["id"].is_string()) continue;
    json layer = {{"id", one["id"]}, {"fields", json::object()}};
    if (one.contains("fields") && one["fields"].is_object()) layer["fields"] = one["fields"];
    for (const char* zoom : {"minzoom", "maxzoom"}) {
      if (one.contains(zoom) && one[zoom].is_number()) layer[zoom] = one[zoom];
    }
    if (one.contains("description") && one["description"].is_string()) {
      layer["description"] = one["description"];
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::string print(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// 10/8, 172.16/12, 192.168/16, 169.254/16, fc00::/7, fe80::/10, this machine and Unix sockets.
bool is_near(const platform::Endpoint& peer) noexcept {
  if (peer.is_unix() || peer.is_loopback()) return true;
  const auto& ip = peer.ip;
  if (peer.is_v4()) {
    return ip[12] == 10 || (ip[12] == 172 && (ip[13] & 0xF0) == 16) ||
           (ip[12] == 192 && ip[13] == 168) || (ip[12] == 169 && ip[13] == 254);
  }
  return (ip[0] & 0xFE) == 0xFC || (ip[0] == 0xFE && (ip[1] & 0xC0) == 0x80);
}

}  // namespace

std::string tilejson_members(std::string_view name, const pack::Info& info) {
  const json metadata = read_metadata(info.metadata);
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().key("tilejson").value("3.0.0").key("scheme").value("xyz");
  writer.key("name").value(text_of(metadata, "name").value_or(std::string(name)));
  for (const char* key : {"description", "attribution", "version"}) {
    if (const auto text = text_of(metadata, key)) writer.key(key).value(*text);
  }
  const pack::Bounds& bounds = info.bounds;
  writer.key("minzoom").value(std::uint32_t{info.min_zoom});
  writer.key("maxzoom").value(std::uint32_t{info.max_zoom});
  writer.key("bounds").begin_array().value(bounds.west).value(bounds.south);
  writer.value(bounds.east).value(bounds.north).end_array();
  writer.key("center").begin_array().value(info.center_lon).value(info.center_lat);
  writer.value(std::uint32_t{info.center_zoom}).end_array();
  writer.end_object();
  std::string members = out.substr(1, out.size() - 2);
  if (info.type == pack::TileType::Mvt) {
    members += ",\"vector_layers\":" + print(layers_of(metadata));
  }
  return members;
}

std::string tilejson(std::string_view members, std::string_view tiles_url) {
  std::string out = "{";
  out.append(members).append(",\"tiles\":[");
  base::append_json_string(out, tiles_url);
  return out.append("]}\n");
}

std::string origin_of(const http::Request& request) {
  std::string_view host = request.head->host;
  bool is_secure = request.is_secure;
  if (request.peer != nullptr && is_near(*request.peer)) {
    const auto told_host = request.head->find("X-Forwarded-Host");
    if (told_host && http::is_host(*told_host)) host = *told_host;
    const auto told_scheme = request.head->find("X-Forwarded-Proto");
    if (told_scheme && http::iequals(*told_scheme, "https")) is_secure = true;
    if (told_scheme && http::iequals(*told_scheme, "http")) is_secure = false;
  }
  if (host.empty()) return "";
  return (is_secure ? "https://" : "http://") + std::string(host);
}

}  // namespace ron::edge
