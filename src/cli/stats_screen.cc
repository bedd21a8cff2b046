#include "cli/stats_screen.h"

#include <cstdint>

#include <nlohmann/json.hpp>

#include "cli/progress.h"
#include "config/value.h"

namespace ron::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 6;  // of one list
constexpr std::size_t kLabelColumns = 10;

const Json& at(const Json& object, const char* name) {
  static const Json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::uint64_t number_at(const Json& object, const char* name) {
  const Json& value = at(object, name);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}
std::string count_at(const Json& object, const char* name) {
  return std::to_string(number_at(object, name));
}
std::string size_at(const Json& object, const char* name) {
  return human_bytes(number_at(object, name));
}
std::string text_at(const Json& object, const char* name) {
  const Json& value = at(object, name);
  return value.is_string() ? config::printable(value.get_ref<const std::string&>(), 100) : "";
}
bool flag_at(const Json& object, const char* name) {
  const Json& value = at(object, name);
  return value.is_boolean() && value.get<bool>();
}

class Screen {
 public:
  void line(std::string label, const std::string& text) {
    label.resize(std::max(label.size() + 1, kLabelColumns), ' ');
    out_ += label + text + "\n";
  }
  // A line for each item, as far as there is room.
  template <class Row>
  void rows(const Json& list, const std::string& label, Row row) {
    if (!list.is_array()) return;
    std::size_t number = 0;
    for (const Json& item : list) {
      if (++number > kMostRows) {
        line(label + "s",
             "and " + std::to_string(list.size() - kMostRows) + " more; --all shows them");
        return;
      }
      row(item, number);
    }
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string health_of(const Json& volume) {
  const bool readable = flag_at(volume, "readable");
  const bool writable = flag_at(volume, "writable");
  const std::string reason = text_at(volume, "reason");
  const std::string why = reason.empty() ? "" : " (" + reason + ")";
  if (readable && writable) return "ok" + why;
  return (readable   ? "not writable"
          : writable ? "not readable"
                     : "neither readable nor writable") +
         why;
}

std::string scrub_of(const Json& scrub) {
  const std::string damaged = ", " + count_at(scrub, "damaged") + " damaged";
  if (flag_at(scrub, "running")) {
    const std::uint64_t total = number_at(scrub, "total_bytes");
    const std::uint64_t share = total == 0 ? 0 : number_at(scrub, "checked_bytes") * 100 / total;
    return "runs, " + std::to_string(share) + "% of " + human_bytes(total) + damaged +
           ", done in about " + human_duration(std::chrono::seconds(number_at(scrub, "eta_s")));
  }
  const std::string finished = text_at(scrub, "finished_at");
  return (finished.empty() ? "none was finished yet" : "last finished " + finished) + damaged;
}

void add_volume(Screen& screen, const Json& volume, std::size_t number) {
  screen.line("volume " + std::to_string(number),
              health_of(volume) + ", " + size_at(volume, "stored_bytes") + " used, " +
                  size_at(volume, "dead_bytes") + " of that dead, " +
                  size_at(volume, "free_bytes") + " free, " + count_at(volume, "quarantined") +
                  " quarantined");
  if (at(volume, "scrub").is_object()) screen.line("  scrub", scrub_of(at(volume, "scrub")));
}

// `name  key value, key value`, whatever the keys are.
void add_named(Screen& screen, const std::string& label, const Json& item) {
  std::string text;
  for (const auto& [key, value] : item.items()) {
    if (key == "name" || value.is_structured()) continue;
    const bool bytes = std::string_view(key).ends_with("bytes") && value.is_number_unsigned();
    const std::string shown = bytes               ? human_bytes(value.get<std::uint64_t>())
                              : value.is_string() ? text_at(item, key.c_str())
                                                  : value.dump();
    text += (text.empty() ? "" : ", ") + config::printable(key) + " " + shown;
  }
  const std::string name = text_at(item, "name");
  screen.line(label, name + (name.empty() ? "" : ": ") + text);
}

}  // namespace

base::Result<std::string> stats_screen(std::string_view stats) {
  const Json json = Json::parse(stats, nullptr, false);
  if (!json.is_object()) {
    return base::fail(base::Code::Malformed, "the server's answer is not statistics");
  }
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  for (const Json& volume : at(json, "volumes")) {
    objects += number_at(volume, "objects");
    bytes += number_at(volume, "object_bytes");
  }
  Screen screen;
  screen.line("objects", std::to_string(objects) + ", " + human_bytes(bytes) +
                             (flag_at(json, "amnesia") ? "; in memory only (amnesia)" : ""));
  screen.rows(at(json, "volumes"), "volume", [&screen](const Json& volume, std::size_t number) {
    add_volume(screen, volume, number);
  });
  const Json& cache = at(json, "cache");
  // There is none in amnesia mode, where everything is in memory.
  if (number_at(cache, "capacity_bytes") > 0) {
    screen.line("cache", count_at(cache, "objects") + " objects, " + size_at(cache, "bytes") +
                             " of " + size_at(cache, "capacity_bytes"));
  }
  screen.line("memory", "at most " + size_at(at(json, "memory"), "most_bytes"));
  const Json& uploads = at(json, "uploads");
  screen.line("uploads", count_at(uploads, "open") + " open of " + count_at(uploads, "max_open"));
  screen.rows(at(json, "queues"), "queue", [&screen](const Json& queue, std::size_t) {
    screen.line("queue", text_at(queue, "name") + ": " + count_at(queue, "depth") + " of " +
                             count_at(queue, "capacity"));
  });
  screen.rows(at(json, "tenants"), "tenant",
              [&screen](const Json& tenant, std::size_t) { add_named(screen, "tenant", tenant); });
  return screen.take();
}

}  // namespace ron::cli
