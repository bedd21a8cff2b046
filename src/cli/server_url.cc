#include "cli/server_url.h"

#include <algorithm>
#include <charconv>

#include "config/value.h"
#include "platform/net.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;

constexpr std::string_view kScheme = "http://";
constexpr std::uint16_t kSchemePort = 80;
constexpr unsigned kAdminOffset = 1000;

std::unexpected<base::Error> bad(std::string_view url, const std::string& why) {
  const bool secret = url.contains('@');
  const std::string shown = secret ? "the URL" : "'" + config::printable(url) + "'";
  return fail(Code::Malformed, shown + " " + why);
}

std::unexpected<base::Error> bad_scheme(std::string_view url) {
  constexpr const char* kRight = "; write http://HOST:PORT, for example http://127.0.0.1:8081";
  if (url.starts_with("https://"))
    return bad(url, std::string("asks for TLS, which this build does not speak") + kRight);
  return bad(url, std::string("does not begin with http://") + kRight);
}

bool is_name(std::string_view host) {
  return !host.empty() && std::ranges::all_of(host, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
  });
}

bool is_v6(std::string_view host) {
  return platform::Endpoint::parse("[" + std::string(host) + "]:0").has_value();
}

}  // namespace

std::string ServerUrl::authority() const {
  const bool is_name_or_v4 = host.find(':') == std::string::npos;
  return (is_name_or_v4 ? host : "[" + host + "]") + ":" + std::to_string(port);
}

base::Result<ServerUrl> parse_server_url(std::string_view url) {
  if (!url.starts_with(kScheme)) return bad_scheme(url);
  std::string_view rest = url.substr(kScheme.size());
  if (rest.contains('@')) {
    return bad(url, "has a user name or password; access is granted by tokens, see --token");
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t path = rest.find_first_of("/?#");
  if (path != std::string_view::npos) {
    return bad(url, "has a path; give only the server, " + std::string(kScheme) +
                        std::string(rest.substr(0, path)));
  }
  ServerUrl server{.host = std::string(rest), .port = kSchemePort};
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
  if (bracketed ? !is_v6(server.host) : !is_name(server.host)) {
    return bad(url, "names no host; write http://HOST:PORT, an IPv6 address in brackets");
  }
  return server;
}

base::Result<ServerUrl> admin_of(const ServerUrl& server) {
  ServerUrl admin = server;
  if (server.port > UINT16_MAX - kAdminOffset) {
    return fail(Code::Malformed, "the admin listener of " + server.text() +
                                     " cannot be guessed; name it with --admin-url or "
                                     "RON_ADMIN_URL");
  }
  admin.port = static_cast<std::uint16_t>(server.port + kAdminOffset);
  return admin;
}

}  // namespace ron::cli
