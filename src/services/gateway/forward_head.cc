#include "services/gateway/forward_head.h"

#include <algorithm>

#include "http/field_list.h"
#include "http/message.h"

namespace ron::gateway {
namespace {

using http::iequals;

// What clients may not say: servers believe it of a proxy, and take it for the client's address or
// for the host and path that were asked for. Anything that begins with the prefix, and these.
constexpr std::string_view kForwardedPrefix = "x-forwarded-";
constexpr auto kOfTheWay = std::to_array<std::string_view>({
    // Of this server.
    "x-corr-id",
    // Whose request it is.
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "cf-pseudo-ipv4",
    "client-ip",
    "do-connecting-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded",
    "forwarded-for",
    "true-client-ip",
    "x-appengine-user-ip",
    "x-azure-clientip",
    "x-azure-socketip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-forwarded",
    "x-nf-client-connection-ip",
    "x-original-forwarded-for",
    "x-originating-ip",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-vercel-forwarded-for",
    // What it is for.
    "x-envoy-original-path",
    "x-host",
    "x-http-host-override",
    "x-original-host",
    "x-original-uri",
    "x-original-url",
    "x-rewrite-url",
});

// As upstreams see it that hand fields on in variables (CGI and its kin): a '_' is a '-' to them.
bool is_named(std::string_view name, std::string_view lower_case) noexcept {
  return std::ranges::equal(name, lower_case, [](char c, char wanted) {
    return c == '_' ? wanted == '-' : http::lower(c) == wanted;
  });
}

// What only a proxy can know.
bool tells_of_the_way(std::string_view name) noexcept {
  if (is_named(name.substr(0, kForwardedPrefix.size()), kForwardedPrefix)) return true;
  return std::ranges::any_of(kOfTheWay,
                             [&](std::string_view each) { return is_named(name, each); });
}

}  // namespace

std::string_view scheme_of(const http::Request& request, const ClientAddress& client) noexcept {
  if (client.by_proxy) {
    const auto told = request.head->find("X-Forwarded-Proto");
    if (told && iequals(*told, "https")) return "https";
    if (told && iequals(*told, "http")) return "http";
  }
  return request.is_secure ? "https" : "http";
}

ForwardHead::ForwardHead(const http::Request& request, const ClientAddress& client) noexcept
    : fields_(http::MessageKind::Request, request.head->fields()) {
  fields_.remove_if(tells_of_the_way);
  const std::string_view scheme = scheme_of(request, client);
  const std::string_view host = request.head->host;
  http::HeadBuffer text(text_);
  text.append("for=");
  if (client.is_local) {
    text.append("_local");
  } else if (client.is_v6) {
    text.append("\"[");
    text.append(client.text.view());
    text.append("]\"");
  } else {
    text.append(client.text.view());
  }
  text.append(";proto=");
  text.append(scheme);
  if (!host.empty()) {
    text.append(";host=\"");
    text.append(host);
    text.append("\"");
  }
  if (text.ok()) fields_.add("Forwarded", text.view());
  if (!client.is_local) fields_.add("X-Forwarded-For", client.text.view());
  fields_.add("X-Forwarded-Proto", scheme);
  if (!host.empty()) fields_.add("X-Forwarded-Host", host);
  fields_.add("X-Corr-ID", request.corr_id.text());
}

}  // namespace ron::gateway
