#include "services/edge/cors.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "services/edge/wires.h"
#include "services/kit/cors.h"
#include "services/kit/handlers.h"

namespace ron::edge {

using http::Request;
using http::Response;
using platform::Task;

Cors::Cors(const EdgeParts& parts)
    : origins_(parts.host.cores, kCorsLock,
               std::make_shared<const config::TextList>(parts.settings->get()->cors_origins)) {}

void Cors::apply(const EdgeConfig& config) {
  origins_.set(std::make_shared<const config::TextList>(config.cors_origins));
}

// Where no page may use it, which is the default, this costs nothing but a look.
http::Handler Cors::around(http::Handler inner) {
  return [this, kept = std::make_shared<const http::Handler>(std::move(inner))](Request* request) {
    if (origins_.here().empty()) return (*kept)(request);
    return ask(kept.get(), request);
  };
}

Task<Response> Cors::ask(const http::Handler* inner, Request* request) {
  Response response = co_await (*inner)(request);
  finish(*request, response);
  co_return response;
}

// Caches are told that the answer depends on who asks, also when nobody has asked from elsewhere
// yet; unless it is the same for everybody.
void Cors::finish(const Request& request, Response& response) {
  const config::TextList& origins = origins_.here();
  if (std::ranges::find(origins, kit::kAnyOrigin) != origins.end()) {
    kit::allow_origin(response, kit::kAnyOrigin);
    return;
  }
  const auto origin = request.head->find("Origin");
  if (origin && kit::allows_origin(origins, *origin)) {
    kit::allow_origin(response, *origin);
    return;
  }
  response.add("Vary", "Origin");
}

Response Cors::answer_options(const Request& request) {
  if (!kit::is_preflight(request)) {
    Response response(204);
    response.add("Allow", "GET, HEAD, OPTIONS");
    return response;
  }
  const auto origin = request.head->find("Origin");
  const auto method = request.head->find("Access-Control-Request-Method");
  const bool is_read = method && (*method == "GET" || *method == "HEAD");
  if (!origin || !is_read || !kit::allows_origin(origins_.here(), *origin)) {
    return kit::refuse(request,
                       {base::Code::NotAllowed, "pages of this origin may not use it in this way"});
  }
  return kit::allow_preflight(request, "GET, HEAD");
}

}  // namespace ron::edge
