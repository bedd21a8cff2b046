#include "cli/stats_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/progress.h"
#include "config/value.h"

namespace ron::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Scrub {
  bool running = false;
  std::uint64_t checked = 0;
  std::uint64_t total = 0;
};

std::uint64_t number_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// The sum over all volumes.
void add_scrubs(const Json& json, Scrub& sum) {
  if (!json.is_structured()) return;
  const auto scrub = json.is_object() ? json.find("scrub") : json.end();
  if (json.is_object() && scrub != json.end() && scrub->is_object()) {
    const auto running = scrub->find("running");
    if (running != scrub->end() && running->is_boolean() && running->get<bool>()) {
      sum.running = true;
      sum.checked += number_at(*scrub, "checked_bytes");
      sum.total += number_at(*scrub, "total_bytes");
    }
  }
  for (const auto& item : json) add_scrubs(item, sum);
}

Scrub scrub_of(std::string_view text) {
  Scrub sum;
  add_scrubs(Json::parse(text, nullptr, false), sum);
  return sum;
}

std::string text_of(std::string_view name, const Json& value) {
  if (value.is_string()) return config::printable(value.get_ref<const std::string&>(), 200);
  if (value.is_number_unsigned() && name.ends_with("bytes")) {
    return human_bytes(value.get<std::uint64_t>());
  }
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return value.is_null() ? "none" : value.dump();
}

std::string words_of(std::string_view name) {
  constexpr std::string_view kBytes = "_bytes";
  if (name.ends_with(kBytes)) name.remove_suffix(kBytes.size());
  std::string words = config::printable(name);
  std::ranges::replace(words, '_', ' ');
  return words;
}

// What an item of a list calls itself.
std::string title_of(const Json& item) {
  if (!item.is_object()) return "";
  for (const char* key : {"name", "what"}) {
    const auto found = item.find(key);
    if (found != item.end() && found->is_string()) return found->get<std::string>();
  }
  return "";
}

bool is_title(std::string_view key) { return key == "name" || key == "what"; }

// `heading` is how the value is called; `name` tells its unit.
void append(std::string& out, const std::string& indent, const std::string& heading,
            std::string_view name, const Json& value) {
  if (!value.is_structured()) {
    out += indent + heading + ": " + text_of(name, value) + "\n";
    return;
  }
  if (value.empty()) return;
  if (value.is_object()) {
    out += indent + heading + "\n";
    for (const auto& [key, member] : value.items()) {
      if (!is_title(key)) append(out, indent + "  ", words_of(key), key, member);
    }
    return;
  }
  std::size_t number = 0;
  for (const Json& item : value) {
    const std::string own = config::printable(title_of(item));
    append(out, indent, own.empty() ? heading + " " + std::to_string(++number) : own, name, item);
  }
}

std::string scrub_line(const Scrub& before, const Scrub& after, base::Duration between) {
  const std::uint64_t share = after.total == 0 ? 0 : after.checked * 100 / after.total;
  std::string line = "scrub: " + std::to_string(share) + "% of " + human_bytes(after.total);
  const double seconds = std::chrono::duration<double>(between).count();
  const bool moves = after.checked > before.checked && after.total > after.checked && seconds > 0;
  if (moves) {
    const double rate = static_cast<double>(after.checked - before.checked) / seconds;
    const double left = static_cast<double>(after.total - after.checked) / rate;
    const std::chrono::duration<double> bounded(std::min(left, 1e8));
    line += ", " + human_bytes(static_cast<std::uint64_t>(rate)) + "/s, done in about " +
            human_duration(std::chrono::duration_cast<base::Duration>(bounded));
  }
  return line + "\n";
}

}  // namespace

bool scrub_runs(std::string_view stats) { return scrub_of(stats).running; }

base::Result<std::string> stats_text(std::string_view stats, std::string_view later,
                                     base::Duration between) {
  const Json json = Json::parse(later.empty() ? stats : later, nullptr, false);
  if (!json.is_object()) {
    return base::fail(base::Code::Malformed, "the server's answer is not statistics");
  }
  std::string out;
  for (const auto& [name, value] : json.items()) append(out, "", words_of(name), name, value);
  const Scrub after = scrub_of(later);
  if (after.running) out += scrub_line(scrub_of(stats), after, between);
  return out;
}

}  // namespace ron::cli
