// Egress: which origins may be asked, and at which addresses. Pure functions and values.
//
// Three gates, each on its own: the URL is in one normal form, edge.allow has its host, port and
// path, and whatever address the host stands for when it is connected to is one that strangers may
// name. The third is put to every address right before it is used (http::ClientSettings), so an
// answer of the name service that changes in between opens nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "platform/net.h"

namespace ron::edge {

inline constexpr std::uint16_t kHttpsPort = 443;

// Where something is to be had from, always over HTTPS, in one spelling: two URLs that mean the
// same are the same text. The host is in lower case and an IPv6 address in its short form. In the
// target, unreserved characters are plain, what may not stand in a URL is escaped, escapes have
// capitals and an empty query is left out (RFC 3986, 6.2.2). What is matched with edge.allow is the
// very text that the origin is sent.
struct OriginUrl {
  std::string host;  // a name or an IP address, without brackets
  std::uint16_t port = kHttpsPort;
  std::string target;  // path and query, as they are sent

  // Host: with its port if that is not the usual one.
  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string text() const { return "https://" + authority() + target; }
  // For logs: how long the query is and not what it says, since it may hold a secret.
  [[nodiscard]] std::string without_query() const;
  [[nodiscard]] std::string_view path() const noexcept;
  friend bool operator==(const OriginUrl&, const OriginUrl&) = default;
};

// `host`, `host:port` and a target that begins with a slash. Malformed for anything that two
// readers could take differently: dot and empty segments, encoded slashes, names that end in a dot.
base::Result<OriginUrl> parse_origin(std::string_view host_port, std::string_view target);

// Where a redirect leads: `https://…`, `//host/…`, an absolute or a relative path. UpstreamFail for
// what is none; NotAllowed for another scheme. Its fragment is cut off.
base::Result<OriginUrl> parse_location(const OriginUrl& from, std::string_view location);

// One entry of edge.allow: `host`, `host:port`, `host/path/prefix`; `*.example.org` for every name
// below example.org. Port 443 unless it names one. Prefixes count in whole segments.
//
// Servers differ in what else they take for a way up: `..;` (Tomcat), `%252e%252e` (whoever decodes
// twice), over-long UTF-8, dots with spaces. So below a prefix no fill is allowed for a path with a
// semicolon, an escaped escape, bytes that are not UTF-8, or a segment of dots and spaces alone.
class AllowedOrigin {
 public:
  // Malformed says what is wrong with it.
  static base::Result<AllowedOrigin> parse(std::string_view entry);
  // The URL is one of those it names, by its text.
  [[nodiscard]] bool has(const OriginUrl& url) const;
  // The same, and no server takes it for something else: it may be asked for.
  [[nodiscard]] bool covers(const OriginUrl& url) const;

 private:
  std::string host_;  // with its dot in front: of those below it
  std::uint16_t port_ = kHttpsPort;
  std::string prefix_;  // decoded, without the slash at its end
};

class AllowList {
 public:
  AllowList() = default;
  // Entries that cannot be parsed are left out; the configuration refuses them before.
  explicit AllowList(std::span<const std::string> entries);
  [[nodiscard]] bool has(const OriginUrl& url) const;
  [[nodiscard]] bool covers(const OriginUrl& url) const;

 private:
  std::vector<AllowedOrigin> entries_;
};

// An address of the public internet: not private, loopback, link-local, multicast, unspecified,
// shared, reserved or for documentation, and not one of those in the clothes of IPv6 (mapped,
// NAT64, 6to4).
bool is_public(const platform::Endpoint& endpoint) noexcept;

}  // namespace ron::edge
