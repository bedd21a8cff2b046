#include "cli/topology_text.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/value.h"

namespace ron::cli {
namespace {

using Json = nlohmann::json;
using Row = std::vector<std::string>;

// A member as printable text; empty when it is missing or something else.
std::string text_of(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  if (found == object.end()) return "";
  if (found->is_string()) return config::printable(found->get_ref<const std::string&>(), 120);
  if (found->is_number_integer()) return std::to_string(found->get<std::int64_t>());
  return "";
}

std::vector<Json> items_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return {};
  return {found->begin(), found->end()};
}

// `3/512` for each live channel of the declaration, `-` when there is none.
std::string depths(const Json& channel) {
  std::string out;
  for (const Json& live : items_of(channel, "live")) {
    out += (out.empty() ? "" : " ") + text_of(live, "depth") + "/" + text_of(live, "capacity");
  }
  return out.empty() ? "-" : out;
}

void append_table(std::string& out, const std::string& title, const std::vector<Row>& rows) {
  if (rows.empty()) return;
  out += "  " + title + "\n";
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line = "   ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
}

void append_service(std::string& out, const Json& service) {
  out += text_of(service, "service") + "\n";
  std::vector<Row> tasks;
  for (const Json& task : items_of(service, "tasks")) {
    tasks.push_back({text_of(task, "kind"), text_of(task, "count"), text_of(task, "importance"),
                     text_of(task, "purpose")});
  }
  append_table(out, "tasks", tasks);
  std::vector<Row> channels;
  for (const Json& channel : items_of(service, "channels")) {
    channels.push_back({text_of(channel, "name"), text_of(channel, "kind"),
                        text_of(channel, "producers") + " -> " + text_of(channel, "consumers"),
                        text_of(channel, "overflow"), depths(channel)});
  }
  append_table(out, "channels", channels);
  std::vector<Row> locks;
  for (const Json& lock : items_of(service, "locks")) {
    locks.push_back({text_of(lock, "rank"), text_of(lock, "name")});
  }
  append_table(out, "locks by rank", locks);
}

}  // namespace

base::Result<std::string> topology_text(std::string_view json) {
  const Json services = Json::parse(json, nullptr, false);
  const bool good = services.is_array() && std::ranges::all_of(services, [](const Json& service) {
                      return service.is_object() && service.contains("service");
                    });
  if (!good) return base::fail(base::Code::Malformed, "the answer is not a topology");
  std::string out;
  for (const Json& service : services) append_service(out, service);
  return out;
}

}  // namespace ron::cli
