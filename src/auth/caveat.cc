#include "auth/caveat.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/rfc3339.h"

namespace ron::auth {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kSeparator = " = ";

Result<Caveat> parse_tenant(std::string_view value) {
  if (!is_tenant_name(value)) {
    return fail(Code::Malformed, "a tenant is 1 to 64 of letters, digits, '.', '_', '-'");
  }
  return TenantCaveat{std::string(value)};
}

Result<Caveat> parse_path_prefix(std::string_view value) {
  if (value.size() > kMaxPathPrefixBytes || !is_plain_path(value)) {
    return fail(Code::Malformed, "a path prefix is a plain absolute path such as /o");
  }
  return PathPrefixCaveat{std::string(value)};
}

Result<Caveat> parse_methods(std::string_view value) {
  MethodCaveat caveat;
  for (;;) {
    const std::size_t comma = value.find(',');
    const std::string_view item = value.substr(0, comma);
    const bool good = !item.empty() && item.size() <= kMaxMethodBytes &&
                      std::ranges::all_of(item, [](char c) { return c >= 'A' && c <= 'Z'; });
    if (!good) return fail(Code::Malformed, "methods are written GET,PUT in capital letters");
    caveat.methods.emplace_back(item);
    if (comma == std::string_view::npos) break;
    value.remove_prefix(comma + 1);
  }
  std::ranges::sort(caveat.methods);
  const auto repeated = std::ranges::unique(caveat.methods);
  caveat.methods.erase(repeated.begin(), repeated.end());
  return caveat;
}

Result<Caveat> parse_expires(std::string_view value) {
  const auto unix_s = base::parse_rfc3339(value);
  if (!unix_s) return fail(unix_s.error());
  return ExpiresCaveat{*unix_s};
}

Result<Caveat> parse_max_bytes(std::string_view value) {
  std::uint64_t bytes = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, bytes);
  const bool leading_zero = value.size() > 1 && value.front() == '0';
  if (error != std::errc{} || stop != end || leading_zero) {
    return fail(Code::Malformed, "max_bytes is a plain decimal number");
  }
  return MaxBytesCaveat{bytes};
}

struct Printer {
  std::string operator()(const ScopeCaveat& c) const { return "scope = " + print(c.scopes); }
  std::string operator()(const TenantCaveat& c) const { return "tenant = " + c.name; }
  std::string operator()(const PathPrefixCaveat& c) const { return "path_prefix = " + c.prefix; }
  std::string operator()(const MethodCaveat& c) const {
    std::string out = "method = ";
    for (std::size_t i = 0; i < c.methods.size(); ++i) {
      if (i > 0) out += ',';
      out += c.methods[i];
    }
    return out;
  }
  std::string operator()(const ExpiresCaveat& c) const {
    return "expires = " + base::print_rfc3339(c.unix_s);
  }
  std::string operator()(const MaxBytesCaveat& c) const {
    return "max_bytes = " + std::to_string(c.bytes);
  }
};

bool has_encoded_separator(std::string_view path) {
  for (std::size_t at = path.find('%'); at != std::string_view::npos; at = path.find('%', at + 1)) {
    const std::string_view code = path.substr(at + 1, 2);
    if (code.size() != 2) return true;
    if (code[0] == '2' && (code[1] == 'e' || code[1] == 'E')) return true;
    if (code[0] == '2' && (code[1] == 'f' || code[1] == 'F')) return true;
    if (code[0] == '5' && (code[1] == 'c' || code[1] == 'C')) return true;
  }
  return false;
}

// Some servers cut a segment at its first `;`: to them `..;x` leads up.
bool has_dot_segment(std::string_view path) {
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view whole = path.substr(0, slash);
    const std::string_view segment = whole.substr(0, whole.find(';'));
    if (segment == "." || segment == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

bool is_plain_decoded_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return false;
  const bool has_no_control = std::ranges::all_of(path, [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != '\x7f' && c != '\\';
  });
  return has_no_control && !has_encoded_separator(path) && !has_dot_segment(path);
}

bool is_plain_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return false;
  const bool printable = std::ranges::all_of(
      path, [](char c) { return c > ' ' && c < '\x7f' && c != '\\' && c != '?' && c != '#'; });
  return printable && !has_encoded_separator(path) && !has_dot_segment(path);
}

Result<Caveat> parse_caveat(std::string_view text, UnknownScopes unknown) {
  const std::size_t at = text.find(kSeparator);
  if (at == std::string_view::npos) {
    return fail(Code::Malformed, "a caveat is written key = value");
  }
  const std::string_view key = text.substr(0, at);
  const std::string_view value = text.substr(at + kSeparator.size());
  if (key == "scope") {
    const auto scopes = parse_scopes(value, unknown);
    if (!scopes) return fail(scopes.error());
    return ScopeCaveat{*scopes};
  }
  if (key == "tenant") return parse_tenant(value);
  if (key == "path_prefix") return parse_path_prefix(value);
  if (key == "method") return parse_methods(value);
  if (key == "expires") return parse_expires(value);
  if (key == "max_bytes") return parse_max_bytes(value);
  return fail(Code::Malformed,
              "unknown caveat; known are scope, tenant, path_prefix, method, expires, max_bytes");
}

std::string print(const Caveat& caveat) { return std::visit(Printer{}, caveat); }

}  // namespace ron::auth
