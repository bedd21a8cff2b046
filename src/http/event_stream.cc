#include "http/event_stream.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ron::http {
namespace {

void append_line(std::string& out, std::string_view field, std::string_view value) {
  out.append(field).append(": ");
  std::ranges::copy_if(value, std::back_inserter(out),
                       [](char c) { return c != '\r' && c != '\n' && c != '\0'; });
  out.push_back('\n');
}

// CR LF, LF and CR each end a line.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end);
  if (rest.starts_with("\r\n")) {
    rest.remove_prefix(2);
  } else if (!rest.empty()) {
    rest.remove_prefix(1);
  }
  return line;
}

}  // namespace

std::string render(const ServerEvent& event) {
  std::string out;
  out.reserve(event.id.size() + event.name.size() + event.data.size() + 32);
  if (!event.id.empty()) append_line(out, "id", event.id);
  if (!event.name.empty()) append_line(out, "event", event.name);
  std::string_view rest = event.data;
  do {
    append_line(out, "data", take_line(rest));
  } while (!rest.empty());
  out.push_back('\n');
  return out;
}

}  // namespace ron::http
