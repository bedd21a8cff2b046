#include "services/edge/routes.h"

#include <utility>

#include "services/kit/handlers.h"

namespace ron::edge {
namespace {

platform::Task<http::Response> answer_options(Core* core, http::Request* request) {
  co_return core->cors().answer_options(*request);
}

}  // namespace

Operator operator_of(const http::Request& request) { return {request.token, request.corr_id}; }

void add_routes(http::Router& router, Core& core) {
  router.wrap([&core](http::Handler inner) { return core.cors().around(std::move(inner)); });
  add_site_routes(router, core);
  add_asset_routes(router, core);
  add_tile_routes(router, core);
  add_preview_routes(router, core);
  kit::Routes(router, core)
      .add(http::Method::Options, "/edge/{path...}", auth::Access::open(), answer_options);
}

}  // namespace ron::edge
