#include "services/index/admin_routes.h"

#include <string>
#include <utility>

#include "chain/fields.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::index {
namespace {

using auth::Access;
using auth::Scope;
using base::fail;
using base::Result;
using base::Value;
using http::Method;
using http::Request;
using http::Response;
using kit::refuse;
using platform::Task;

// `{"key": "docs/v2"}`.
Task<Result<catalog::Key>> read_key(Request* request) {
  const auto value = co_await kit::read_document(request);
  if (!value) co_return fail(value.error());
  const auto fields = chain::Fields::of(*value, "the request", {"key"});
  if (!fields) co_return fail(fields.error());
  const auto text = fields->text("key", catalog::kMaxNameBytes);
  if (!text) co_return fail(text.error());
  co_return catalog::parse_key(*text);
}

Origin origin_of(const Request& request) {
  return {.corr_id = request.corr_id, .token = request.token, .is_admin = true};
}

Task<Response> pin_or_not(Core* core, Request* request, bool is_pinned) {
  const auto key = co_await read_key(request);
  if (!key) co_return refuse(*request, key.error());
  const std::string text = catalog::print(*key);
  const auto changed = co_await core->pin(text, is_pinned, origin_of(*request), request->deadline);
  if (!changed) co_return refuse(*request, changed.error());
  co_return kit::document(*request, 200,
                          Value::Map{{"key", text}, {"pinned", is_pinned}, {"changed", *changed}});
}
Task<Response> pin(Core* core, Request* request) { return pin_or_not(core, request, true); }
Task<Response> unpin(Core* core, Request* request) { return pin_or_not(core, request, false); }

}  // namespace

void add_operator_routes(http::Router& router, Core& core) {
  const Access admin = Access::needs(Scope::kIndexAdmin);
  kit::Routes(router, core)
      .add(Method::Post, "/admin/pin", admin, pin)
      .add(Method::Post, "/admin/unpin", admin, unpin);
}

}  // namespace ron::index
