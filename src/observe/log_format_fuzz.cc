// Any bytes in any part of a line: it stays one bounded line without control characters, and every
// quote in a JSON line that is not structure is escaped.
#include <cstdint>
#include <cstdlib>

#include "observe/log_format.h"

namespace {

using namespace ron::observe;

void require(bool holds) {
  if (!holds) std::abort();
}

// Walks a flat JSON object the way a strict reader would: strings and bare words only.
void require_flat_json(std::string_view line) {
  bool in_string = false;
  std::size_t strings = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_string && line[i] == '\\') {
      ++i;
      require(i < line.size() && std::string_view("\"\\nrtu").contains(line[i]));
    } else if (line[i] == '"') {
      in_string = !in_string;
      ++strings;
    } else if (!in_string) {
      require(std::string_view("{}:,truefals").contains(line[i]));
    }
  }
  require(!in_string && strings % 2 == 0 && strings >= 2 * 2 * 5);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t third = size / 3;
  const LineHead head{static_cast<std::int64_t>(size),
                      Level::kInfo,
                      input.substr(0, third),
                      input.substr(third, third),
                      {}};
  const std::string_view value = input.substr(2 * third);
  for (const LogFormat format : {LogFormat::kJson, LogFormat::kText}) {
    LineBuffer out;
    format_line(out, format, head, {{"value", value}, {"again", value}, {"whole", input}});
    std::string_view line = out.view();
    require(line.size() <= kLineBytes && line.ends_with('\n'));
    line.remove_suffix(1);
    for (const char c : line) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
    if (format == LogFormat::kJson) require_flat_json(line);
  }
  return 0;
}
