#include "platform/posix/resolver.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>

namespace ron::platform::posix {
namespace {

using Endpoints = std::vector<Endpoint>;

std::unexpected<base::Error> failed(const std::string& host, int error) {
  const bool unknown = error == EAI_NONAME || error == EAI_NODATA;
  return base::fail(unknown ? base::Code::NotFound : base::Code::UpstreamFail,
                    "cannot find host '" + host + "': " + gai_strerror(error));
}

Endpoint endpoint_of(const addrinfo& found, std::uint16_t port) {
  Endpoint endpoint = Endpoint::loopback(port);
  if (found.ai_family == AF_INET) {
    const auto& v4 = *reinterpret_cast<const sockaddr_in*>(found.ai_addr);
    std::memcpy(endpoint.ip.data() + 12, &v4.sin_addr, 4);
  } else {
    const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(found.ai_addr);
    std::memcpy(endpoint.ip.data(), &v6.sin6_addr, 16);
  }
  return endpoint;
}

base::Result<Endpoints> ask(const std::string& host, std::uint16_t port) {
  if (host.find('\0') != std::string::npos) return failed(host, EAI_NONAME);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &wanted, &list);
  if (error != 0) return failed(host, error);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, &freeaddrinfo);
  Endpoints endpoints;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    if (at->ai_family != AF_INET && at->ai_family != AF_INET6) continue;
    const Endpoint endpoint = endpoint_of(*at, port);
    const bool is_new = std::ranges::find(endpoints, endpoint) == endpoints.end();
    if (is_new) endpoints.push_back(endpoint);
  }
  if (endpoints.empty()) return failed(host, EAI_NONAME);
  return endpoints;
}

}  // namespace

Task<base::Result<Endpoints>> SystemResolver::resolve(std::string host, std::uint16_t port) {
  auto answer = co_await blocking_.run(kResolveName,
                                       [name = std::move(host), port] { return ask(name, port); });
  if (!answer) co_return base::fail(std::move(answer.error()));
  co_return std::move(*answer);
}

}  // namespace ron::platform::posix
