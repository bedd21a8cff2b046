#include "http/client_share.h"

#include "http/request.h"
#include "platform/address_text.h"
#include "platform/client_network.h"

namespace ron::http {

std::string ClientShare::text() const {
  if (kind == Kind::Unknown) return {};
  return std::string(kind == Kind::Tenant ? "tenant " : "address ").append(name);
}

std::string share_of(const Request& request) {
  using Kind = ClientShare::Kind;
  if (request.share.kind != Kind::Unknown) return request.share.text();
  if (!request.tenant.empty()) return ClientShare{Kind::Tenant, request.tenant}.text();
  if (request.peer == nullptr || request.peer->is_unix()) return {};
  const std::string address = platform::network_text(platform::client_network(*request.peer));
  return ClientShare{Kind::Address, address}.text();
}

}  // namespace ron::http
