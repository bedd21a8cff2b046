#include "http/upstream_address.h"

#include <utility>

#include "http/server_url.h"

namespace ron::http {

base::Result<UpstreamAddress> UpstreamAddress::parse(std::string_view url) {
  base::Result<ServerUrl> server = parse_server_url(url);
  if (!server) return base::fail(std::move(server.error()));
  const bool is_unix = server->scheme == ServerUrl::Scheme::Unix;
  if (is_unix && !server->host.starts_with('/')) {
    return base::fail(base::Code::Malformed,
                      "'" + server->text() + "' is not an absolute path; write unix:/PATH");
  }
  UpstreamAddress address;
  address.url_ = server->text();
  address.authority_ = server->authority();
  // An address is not looked up.
  base::Result<platform::Endpoint> endpoint =
      platform::Endpoint::parse(is_unix ? address.url_ : address.authority_);
  if (endpoint) {
    address.endpoint_ = std::move(*endpoint);
  } else {
    address.name_ = server->host;
    address.port_ = server->port;
  }
  if (server->scheme == ServerUrl::Scheme::Https) address.tls_host_ = std::move(server->host);
  return address;
}

}  // namespace ron::http
