#include "http/server_url.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "config/value.h"
#include "platform/net.h"

namespace ron::http {
namespace {

using base::Code;
using base::fail;

using Scheme = ServerUrl::Scheme;

struct SchemeInfo {
  Scheme scheme;
  std::string_view prefix;
  std::uint16_t port;
};
constexpr std::array kSchemes = {SchemeInfo{Scheme::Http, "http://", 80},
                                 SchemeInfo{Scheme::Https, "https://", 443},
                                 SchemeInfo{Scheme::Unix, "unix:", 0}};

std::unexpected<base::Error> bad(std::string_view url, const std::string& why) {
  const bool secret = url.contains('@');
  const std::string shown = secret ? "the URL" : "'" + config::printable(url) + "'";
  return fail(Code::Malformed, shown + " " + why);
}

std::unexpected<base::Error> bad_scheme(std::string_view url) {
  return bad(url,
             "does not begin with http://, https:// or unix:; write http://HOST:PORT, for example "
             "http://127.0.0.1:8081, or unix:PATH");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_v4(std::string_view host) {
  return platform::Endpoint::parse(std::string(host) + ":0").has_value();
}

// Four numbers are an address or a mistake: nobody is to be asked for `10.0.0.300`.
bool is_host(std::string_view host) {
  const bool plain = std::ranges::all_of(host, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
  });
  if (host.empty() || !plain) return false;
  const bool is_quad = std::ranges::count(host, '.') == 3 &&
                       std::ranges::all_of(host, [](char c) { return is_digit(c) || c == '.'; });
  return !is_quad || is_v4(host);
}

bool is_v6(std::string_view host) {
  return platform::Endpoint::parse("[" + std::string(host) + "]:0").has_value();
}

}  // namespace

std::string ServerUrl::authority() const {
  if (scheme == Scheme::Unix) return "localhost";
  const bool is_name_or_v4 = host.find(':') == std::string::npos;
  return (is_name_or_v4 ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::string ServerUrl::text() const {
  const SchemeInfo& info = kSchemes[static_cast<std::size_t>(scheme)];
  return std::string(info.prefix) + (scheme == Scheme::Unix ? host : authority());
}

base::Result<ServerUrl> parse_server_url(std::string_view url) {
  const auto* const info = std::ranges::find_if(
      kSchemes, [url](const SchemeInfo& one) { return url.starts_with(one.prefix); });
  if (info == kSchemes.end()) return bad_scheme(url);
  std::string_view rest = url.substr(info->prefix.size());
  if (info->scheme == Scheme::Unix) {
    const auto endpoint = platform::Endpoint::unix_socket(rest);
    if (!endpoint) return fail(endpoint.error());
    return ServerUrl{.scheme = Scheme::Unix, .host = endpoint->path};
  }
  if (rest.contains('@')) {
    return bad(url, "has a user name or password; leave them out, access is granted by tokens");
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t path = rest.find_first_of("/?#");
  if (path != std::string_view::npos) {
    return bad(url, "has a path; give only the server, " + std::string(info->prefix) +
                        std::string(rest.substr(0, path)));
  }
  ServerUrl server{.scheme = info->scheme, .host = std::string(rest), .port = info->port};
  const std::size_t bracket = rest.rfind(']');
  const std::size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon)) {
    server.host = rest.substr(0, colon);
    const std::string_view digits = rest.substr(colon + 1);
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), server.port);
    const bool whole = status == std::errc{} && end == digits.data() + digits.size();
    if (!whole || server.port == 0) return bad(url, "has no port from 1 to 65535 after the colon");
  }
  const bool bracketed = server.host.starts_with('[') && server.host.ends_with(']');
  if (bracketed) server.host = server.host.substr(1, server.host.size() - 2);
  if (bracketed ? !is_v6(server.host) : !is_host(server.host)) {
    return bad(url, "names no host; write http://HOST:PORT, an IPv6 address in brackets");
  }
  return server;
}

}  // namespace ron::http
