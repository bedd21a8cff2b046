#include "sample_service/routes.h"

#include <memory>
#include <string>
#include <utility>

#include "base/json.h"
#include "services/kit/event_feed.h"
#include "services/kit/handlers.h"

namespace ron::sample {
namespace {

using http::Method;
using http::Request;
using http::Response;
using platform::Task;

Task<Response> echo(Core* core, Request* request) {
  const base::Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return kit::refuse(*request, body.error());
  std::string text(base::as_text(body->view()));
  auto said = co_await core->echo(std::move(text), request->deadline);
  if (!said) co_return kit::refuse(*request, said.error());
  co_return Response::text(200, std::move(*said), "text/plain; charset=utf-8");
}

http::ServerEvent say(const Echoed& event) { return {.name = "echoed", .data = event.text}; }

Task<Response> follow(Core* core, Request*) {
  co_return Response::events(std::make_unique<kit::EventFeed<Echoed>>(core->events(), say));
}

Task<Response> show_echoes(Core* core, Request*) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("echoes").value(core->echoes()).end_object();
  co_return Response::json(200, std::move(body));
}

}  // namespace

void add_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .add(Method::Post, "/echo", auth::Access::read(), echo)
      .add(Method::Get, "/events", auth::Access::read(), follow);
}

void add_operator_routes(http::Router& router, Core& core) {
  const auto access = auth::Access::needs(auth::Scope::kGatewayAdmin);
  kit::Routes(router, core).add(Method::Get, "/admin/echoes", access, show_echoes);
}

}  // namespace ron::sample
