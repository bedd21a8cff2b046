#include "services/gateway/forward_head.h"

#include "http/field_list.h"
#include "http/message.h"

namespace ron::gateway {
namespace {

using http::iequals;

constexpr std::string_view kForwardedPrefix = "X-Forwarded-";

// What only a proxy can know.
bool tells_of_the_way(std::string_view name) noexcept {
  switch (name.size()) {
    case 9:
      return iequals(name, "Forwarded") || iequals(name, "X-Real-IP") || iequals(name, "X-Corr-ID");
    case 14:
      return iequals(name, "True-Client-IP");
    case 16:
      if (iequals(name, "CF-Connecting-IP")) return true;
      break;
    default:
      break;
  }
  return iequals(name.substr(0, kForwardedPrefix.size()), kForwardedPrefix);
}

// What the client used, as far as that is known for certain.
std::string_view scheme_of(const http::Request& request, const ClientAddress& client) noexcept {
  if (client.by_proxy) {
    const auto told = request.head->find("X-Forwarded-Proto");
    if (told && iequals(*told, "https")) return "https";
    if (told && iequals(*told, "http")) return "http";
  }
  return request.is_secure ? "https" : "http";
}

}  // namespace

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
