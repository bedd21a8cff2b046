// UpstreamAddress: where one member of an upstream group is, ready to be put into requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client_request.h"
#include "platform/net.h"

namespace ron::http {

class UpstreamAddress {
 public:
  // `http://HOST:PORT`, `https://HOST[:PORT]`, each with a name, an IPv4 address or an IPv6 address
  // in brackets, or `unix:/PATH`. Malformed says what is wrong: a path, a query, a user name.
  static base::Result<UpstreamAddress> parse(std::string_view url);

  // As it was understood: with its port and without a slash at the end.
  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] bool is_secured() const noexcept { return !tls_host_.empty(); }

  // Sends the request there: sets endpoint, name, port and tls_host to views of this.
  void aim(ClientRequest& request) const {
    request.endpoint = endpoint_;
    request.name = name_;
    request.port = port_;
    request.tls_host = tls_host_;
  }
  // Host, for a request that does not bring its own.
  [[nodiscard]] std::string_view authority() const noexcept { return authority_; }

 private:
  UpstreamAddress() = default;

  std::string url_;
  std::string authority_;
  platform::Endpoint endpoint_;  // of an IP address or a socket
  std::string name_;             // or else who is to be looked up
  std::uint16_t port_ = 0;       // of the name
  std::string tls_host_;
};

}  // namespace ron::http
