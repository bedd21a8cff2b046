#include "services/edge/egress.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "base/encoding.h"
#include "base/utf8.h"
#include "http/field_list.h"
#include "http/server_url.h"
#include "http/uri.h"

namespace ron::edge {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kScheme = "https://";
constexpr std::size_t kMaxHostBytes = 253;  // RFC 1035

struct HostPort {
  std::string host;
  std::uint16_t port = kHttpsPort;
};

// An IPv6 address has many spellings.
std::string canonical_host(std::string host) {
  std::ranges::transform(host, host.begin(), http::lower);
  if (!host.contains(':')) return host;
  const Result<platform::Endpoint> address = platform::Endpoint::parse("[" + host + "]:0");
  if (!address) return host;
  std::string text = address->text();
  text.resize(text.rfind(':'));
  return text.starts_with('[') ? text.substr(1, text.size() - 2) : text;
}

Result<HostPort> parse_host_port(std::string_view text) {
  const Result<http::ServerUrl> url =
      http::parse_server_url(std::string(kScheme) + std::string(text));
  if (!url || text.contains('/')) return fail(Code::Malformed, "there is no host name or port");
  HostPort out{.host = canonical_host(url->host), .port = url->port};
  const bool empty_label =
      out.host.starts_with('.') || out.host.ends_with('.') || out.host.contains("..");
  if (empty_label || out.host.size() > kMaxHostBytes) {
    return fail(Code::Malformed, "a host name has labels that are not empty");
  }
  return out;
}

// The path decoded, in its one normal form.
Result<std::string> normal_path(std::string_view path) {
  http::UriScratch scratch;
  if (path.size() > scratch.size()) return fail(Code::UriTooLong, "the path is too long");
  const auto decoded = http::decode_path(path, scratch);
  if (!decoded) return fail(decoded.error().error());
  return std::string(*decoded);
}

bool is_unreserved(char c) noexcept {
  return http::is_digit(c) || (http::lower(c) >= 'a' && http::lower(c) <= 'z') ||
         std::string_view("-._~").contains(c);
}

// What may stand for itself in a path or query.
bool is_plain(char c) noexcept {
  return is_unreserved(c) || std::string_view("!$&'()*+,;=:@/?").contains(c);
}

void append_escape(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
}

// The byte that the escape at the front stands for, if it is one.
std::optional<char> unescaped(std::string_view text) noexcept {
  if (text.size() < 3 || text.front() != '%') return std::nullopt;
  const int high = base::hex_digit(text[1]);
  const int low = base::hex_digit(text[2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high << 4 | low);
}

// The one spelling of a target. A percent sign that begins no escape stands for itself; only
// queries have those.
std::string canonical_target(std::string_view target) {
  const http::Target cut = http::split_target(target);
  if (cut.query.empty()) target = cut.path;
  std::string out;
  out.reserve(target.size());
  while (!target.empty()) {
    const std::optional<char> escaped = unescaped(target);
    const char c = escaped.value_or(target.front());
    if (escaped ? is_unreserved(c) : is_plain(c)) {
      out += c;
    } else {
      append_escape(out, c);
    }
    target.remove_prefix(escaped ? 3 : 1);
  }
  return out;
}

Result<std::string> read_target(std::string_view target) {
  if (target.size() > base::limits::kTargetBytes) {
    return fail(Code::UriTooLong, "the target is too long");
  }
  if (!http::is_target(target)) return fail(Code::Malformed, "the target has forbidden bytes");
  const Result<std::string> path = normal_path(http::split_target(target).path);
  if (!path) return fail(path.error());
  std::string canonical = canonical_target(target);
  if (canonical.size() > base::limits::kTargetBytes) {
    return fail(Code::UriTooLong, "the target is too long");
  }
  return canonical;
}

bool has_escape(std::string_view text) noexcept {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    const std::string_view rest = text.substr(at);
    const bool is_unicode = rest.size() > 1 && http::lower(rest[1]) == 'u';
    if (is_unicode || unescaped(rest)) return true;
  }
  return false;
}

// A decoded path, or a part of one, is the same path to every server.
bool is_read_alike(std::string_view path) noexcept {
  if (path.contains(';') || has_escape(path) || !base::is_utf8(path)) return false;
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    if (!segment.empty() && segment.find_first_not_of(". ") == std::string_view::npos) return false;
    path.remove_prefix(std::min(segment.size() + 1, path.size()));
  }
  return true;
}

// The path of `from` up to its last slash, with that.
std::string_view directory_of(const OriginUrl& from) noexcept {
  const std::string_view path = from.path();
  return path.substr(0, path.rfind('/') + 1);
}

bool has_scheme(std::string_view reference) noexcept {
  const std::size_t end = reference.find_first_of(":/?");
  return end != std::string_view::npos && reference[end] == ':';
}

Result<OriginUrl> locate(const OriginUrl& from, std::string_view reference) {
  if (reference.starts_with('/') && !reference.starts_with("//")) {
    return OriginUrl{from.host, from.port, std::string(reference)};
  }
  if (reference.starts_with('?')) {
    return OriginUrl{from.host, from.port, std::string(from.path()) + std::string(reference)};
  }
  const std::size_t scheme = reference.starts_with("//") ? 2 : kScheme.size();
  if (scheme == kScheme.size() && !http::iequals(reference.substr(0, scheme), kScheme)) {
    if (has_scheme(reference)) return fail(Code::NotAllowed, "it redirects to what is not https");
    return OriginUrl{from.host, from.port,
                     std::string(directory_of(from)) + std::string(reference)};
  }
  const std::string_view rest = reference.substr(scheme);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  Result<HostPort> at = parse_host_port(rest.substr(0, end));
  if (!at) return fail(std::move(at.error()));
  std::string target(rest.substr(end));
  if (!target.starts_with('/')) target.insert(0, 1, '/');
  return OriginUrl{std::move(at->host), at->port, std::move(target)};
}

template <std::size_t N>
struct Network {
  std::array<std::uint8_t, N> first;
  unsigned bits;

  [[nodiscard]] bool has(std::span<const std::uint8_t, N> address) const noexcept {
    for (unsigned i = 0; i < bits; ++i) {
      const unsigned mask = 0x80U >> (i % 8);
      if (((first[i / 8] ^ address[i / 8]) & mask) != 0) return false;
    }
    return true;
  }
};

// The special-purpose registries of IANA (RFC 6890 and what was added since).
constexpr std::array<Network<4>, 15> kSpecial4 = {{
    {{0, 0, 0, 0}, 8},        // this network
    {{10, 0, 0, 0}, 8},       // private
    {{100, 64, 0, 0}, 10},    // shared by a carrier's clients
    {{127, 0, 0, 0}, 8},      // loopback
    {{169, 254, 0, 0}, 16},   // link-local
    {{172, 16, 0, 0}, 12},    // private
    {{192, 0, 0, 0}, 24},     // protocol assignments
    {{192, 0, 2, 0}, 24},     // documentation
    {{192, 88, 99, 0}, 24},   // 6to4 relays
    {{192, 168, 0, 0}, 16},   // private
    {{198, 18, 0, 0}, 15},    // benchmarks
    {{198, 51, 100, 0}, 24},  // documentation
    {{203, 0, 113, 0}, 24},   // documentation
    {{224, 0, 0, 0}, 4},      // multicast
    {{240, 0, 0, 0}, 4},      // reserved, and broadcast
}};

// Of IPv6 only what is handed out as global unicast counts; within that, what is not.
constexpr Network<16> kGlobal6 = {{0x20}, 3};
constexpr std::array<Network<16>, 3> kSpecial6 = {{
    {{0x20, 0x01}, 23},              // protocol assignments, Teredo among them
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    {{0x3f, 0xff}, 20},              // documentation
}};
constexpr Network<16> kNat64 = {{0x00, 0x64, 0xff, 0x9b}, 96};
constexpr Network<16> kSixToFour = {{0x20, 0x02}, 16};

bool is_public4(std::span<const std::uint8_t, 4> address) noexcept {
  return std::ranges::none_of(kSpecial4, [&](const auto& each) { return each.has(address); });
}

}  // namespace

std::string OriginUrl::authority() const {
  const std::string shown = host.contains(':') ? "[" + host + "]" : host;
  return port == kHttpsPort ? shown : shown + ":" + std::to_string(port);
}

std::string_view OriginUrl::path() const noexcept { return http::split_target(target).path; }

std::string OriginUrl::without_query() const {
  const http::Target cut = http::split_target(target);
  std::string text = std::string(kScheme) + authority() + std::string(cut.path);
  if (cut.path.size() < target.size()) {
    text += "?(" + std::to_string(cut.query.size()) + " bytes)";
  }
  return text;
}

Result<OriginUrl> parse_origin(std::string_view host_port, std::string_view target) {
  Result<HostPort> at = parse_host_port(host_port);
  if (!at) return fail(std::move(at.error()));
  Result<std::string> read = read_target(target);
  if (!read) return fail(std::move(read.error()));
  return OriginUrl{std::move(at->host), at->port, std::move(*read)};
}

Result<OriginUrl> parse_location(const OriginUrl& from, std::string_view location) {
  const std::string_view reference = location.substr(0, location.find('#'));
  if (!http::is_target(reference)) {
    return fail(Code::UpstreamFail, "its redirect does not say where to");
  }
  Result<OriginUrl> to = locate(from, reference);
  if (!to && to.error().code == Code::NotAllowed) return to;
  Result<std::string> target = to ? read_target(to->target) : fail(to.error());
  if (!target) {
    return fail(Code::UpstreamFail, "its redirect leads to what is no URL in normal form");
  }
  to->target = std::move(*target);
  return to;
}

Result<AllowedOrigin> AllowedOrigin::parse(std::string_view entry) {
  const std::size_t slash = std::min(entry.find('/'), entry.size());
  std::string_view host = entry.substr(0, slash);
  const bool below = host.starts_with("*.");
  if (below) host.remove_prefix(2);
  Result<HostPort> at = parse_host_port(host);
  const bool is_address =
      at &&
      platform::Endpoint::parse((at->host.contains(':') ? "[" + at->host + "]" : at->host) + ":0")
          .has_value();
  if (!at || (below && is_address)) {
    return fail(Code::Malformed,
                "names no host; write example.org, example.org:8443, example.org/maps or "
                "*.example.org, without https://");
  }
  AllowedOrigin out;
  out.host_ = below ? "." + at->host : at->host;
  out.port_ = at->port;
  if (slash == entry.size()) return out;
  if (entry.find_first_of("?#") != std::string_view::npos) {
    return fail(Code::Malformed, "has a query; a prefix is a path");
  }
  Result<std::string> prefix = normal_path(entry.substr(slash));
  if (!prefix) return fail(Code::Malformed, "has a path that is not in normal form");
  out.prefix_ = std::move(*prefix);
  if (out.prefix_.ends_with('/')) out.prefix_.pop_back();
  return out;
}

bool AllowedOrigin::has(const OriginUrl& url) const {
  if (url.port != port_) return false;
  const bool host_fits = host_.starts_with('.') ? url.host.ends_with(host_) : url.host == host_;
  if (!host_fits) return false;
  if (prefix_.empty()) return true;
  const Result<std::string> path = normal_path(url.path());
  return path && path->starts_with(prefix_) &&
         (path->size() == prefix_.size() || (*path)[prefix_.size()] == '/');
}

bool AllowedOrigin::covers(const OriginUrl& url) const {
  if (!has(url)) return false;
  if (prefix_.empty()) return true;
  const Result<std::string> path = normal_path(url.path());
  return path && is_read_alike(std::string_view(*path).substr(prefix_.size()));
}

AllowList::AllowList(std::span<const std::string> entries) {
  for (const std::string& entry : entries) {
    if (Result<AllowedOrigin> parsed = AllowedOrigin::parse(entry)) {
      entries_.push_back(std::move(*parsed));
    }
  }
}

bool AllowList::has(const OriginUrl& url) const {
  return std::ranges::any_of(entries_, [&](const AllowedOrigin& each) { return each.has(url); });
}

bool AllowList::covers(const OriginUrl& url) const {
  return std::ranges::any_of(entries_, [&](const AllowedOrigin& each) { return each.covers(url); });
}

bool is_public(const platform::Endpoint& endpoint) noexcept {
  if (endpoint.is_unix()) return false;
  const std::span<const std::uint8_t, 16> ip(endpoint.ip);
  if (endpoint.is_v4()) return is_public4(ip.subspan<12, 4>());
  if (kNat64.has(ip)) return is_public4(ip.subspan<12, 4>());
  if (kSixToFour.has(ip)) return is_public4(ip.subspan<2, 4>());
  return kGlobal6.has(ip) &&
         std::ranges::none_of(kSpecial6, [&](const auto& each) { return each.has(ip); });
}

}  // namespace ron::edge
