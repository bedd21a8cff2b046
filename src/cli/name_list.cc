#include "cli/name_list.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "config/value.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;

constexpr std::string_view kBetween = "  ";

bool needs_escapes(std::string_view name) {
  return name.find_first_of("\n\r\\") != std::string_view::npos;
}

std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\\') {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '\\') {
      out += name[i];
      continue;
    }
    const char next = ++i < name.size() ? name[i] : '\0';
    if (next == 'n') {
      out += '\n';
    } else if (next == 'r') {
      out += '\r';
    } else if (next == '\\') {
      out += '\\';
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

}  // namespace

std::string list_line(const NamedObject& entry) {
  std::string line;
  if (needs_escapes(entry.name)) line += '\\';
  line += entry.id.text();
  line += kBetween;
  line += escaped(entry.name);
  line += '\n';
  return line;
}

base::Result<NamedObject> parse_list_line(std::string_view line) {
  const bool has_escapes = line.starts_with('\\');
  if (has_escapes) line.remove_prefix(1);
  const auto id = base::ObjectId::parse(line.substr(0, base::ObjectId::kTextLength));
  if (!id) return fail(Code::Malformed, "the line does not begin with an address");
  line.remove_prefix(base::ObjectId::kTextLength);
  if (!line.starts_with(kBetween)) {
    return fail(Code::Malformed, "two blanks must stand between address and name");
  }
  line.remove_prefix(kBetween.size());
  auto name = has_escapes ? unescaped(line) : std::string(line);
  if (!name || name->empty() || name->contains('\0')) {
    return fail(Code::Malformed, "'" + config::printable(line) + "' is not a file name");
  }
  return NamedObject{*id, std::move(*name)};
}

std::string portable_name(std::string_view path) {
  std::string name;
  for (const std::string_view part : parts_of(path)) {
    if (part == "..") name.clear();
    if (part.empty() || part == "." || part == "..") continue;
    if (!name.empty()) name += '/';
    name += part;
  }
  return name;
}

base::Result<void> check_inside(std::string_view name) {
  const bool leads_out =
      name.starts_with('/') || name.ends_with('/') ||
      std::ranges::any_of(parts_of(name), [](auto part) { return part == ".."; });
  if (!leads_out) return {};
  return fail(Code::Malformed, "'" + config::printable(name) + "' leads out of the directory");
}

}  // namespace ron::cli
