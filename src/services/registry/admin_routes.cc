#include "services/registry/admin_routes.h"

#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::registry {
namespace {

using base::Value;
using http::Request;
using http::Response;
using kit::document;
using platform::Task;

// Signs one that covers HEAD, unless there is one.
Task<Response> make_checkpoint(Core* core, Request* request) {
  const std::uint64_t head = core->views().head()->head.version;
  const auto covering = co_await core->checkpointor().covering(head, request->deadline);
  if (!covering) co_return kit::refuse(*request, covering.error());
  co_return document(
      *request, 200,
      Value::Map{{"version", (*covering)->checkpoint.version}, {"note", (*covering)->note}});
}

}  // namespace

void add_operator_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .add(http::Method::Post, "/admin/registry/checkpoint",
           auth::Access::needs(auth::Scope::kRegistryGovern), make_checkpoint);
}

}  // namespace ron::registry
