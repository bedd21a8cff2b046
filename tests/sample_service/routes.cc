#include "sample_service/routes.h"

#include <string>
#include <utility>

#include "base/json.h"
#include "services/kit/handlers.h"

namespace ron::sample {
namespace {

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

Task<Response> show_echoes(Core* core, Request*) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("echoes").value(core->echoes());
  json.key("waiting").value(core->waiting()).end_object();
  co_return Response::json(200, std::move(body));
}

}  // namespace

void add_routes(http::Router& router, Core& core) {
  router.add({.method = http::Method::Post,
              .pattern = "/echo",
              .access = auth::Access::read(),
              .handler = kit::bind_api(core, echo)});
}

void add_operator_routes(http::Router& router, Core& core) {
  router.add({.method = http::Method::Get,
              .pattern = "/admin/echoes",
              .access = auth::Access::needs(auth::Scope::kGatewayAdmin),
              .handler = kit::bind_api(core, show_echoes)});
}

}  // namespace ron::sample
