#include "services/index/admin_routes.h"

#include <string>
#include <utility>

#include "chain/fields.h"
#include "services/index/lists.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::index {
namespace {

using auth::Access;
using auth::Scope;
using base::Code;
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

using Act = Task<Result<Value>> (*)(Core*, Request*, catalog::Key);

// What was done for an Idempotency-Key is not done again: the answer is.
Task<Response> act_once(Core* core, Request* request, std::string_view name, Act act) {
  auto key = co_await read_key(request);
  if (!key) co_return refuse(*request, key.error());
  const std::string once(request->head->find("Idempotency-Key").value_or(""));
  if (once.size() > Replays::kMaxKeyBytes) {
    co_return refuse(*request, {Code::Malformed, "the Idempotency-Key is too long"});
  }
  const std::string asked = std::string(name) + " " + catalog::print(*key);
  if (!once.empty()) {
    const auto before = core->replays().find(once, asked);
    if (!before) co_return refuse(*request, before.error());
    if (*before) {
      Response response = kit::document(*request, 200, **before);
      response.add("Idempotency-Replayed", "true");
      co_return response;
    }
  }
  const auto done = co_await act(core, request, std::move(*key));
  if (!done) co_return refuse(*request, done.error());
  if (!once.empty()) core->replays().keep(once, asked, *done);
  co_return kit::document(*request, 200, *done);
}

Task<Result<Value>> set_pin(Core* core, Request* request, catalog::Key key, bool is_pinned) {
  const std::string text = catalog::print(key);
  const auto changed = co_await core->pin(text, is_pinned, origin_of(*request), request->deadline);
  if (!changed) co_return fail(changed.error());
  co_return Value(Value::Map{{"key", text}, {"pinned", is_pinned}, {"changed", *changed}});
}
Task<Result<Value>> do_pin(Core* core, Request* request, catalog::Key key) {
  return set_pin(core, request, std::move(key), true);
}
Task<Result<Value>> do_unpin(Core* core, Request* request, catalog::Key key) {
  return set_pin(core, request, std::move(key), false);
}

Task<Result<Value>> do_reindex(Core* core, Request* request, catalog::Key key) {
  const std::string text = catalog::print(key);
  const auto done = co_await core->reindex(std::move(key), origin_of(*request), request->deadline);
  if (!done) co_return fail(done.error());
  const Value manifest = done->manifest ? Value(Value::Map{{"entries", done->manifest->entries},
                                                           {"length", done->manifest->length}})
                                        : Value();
  co_return Value(Value::Map{{"key", text},
                             {"address", done->address.text()},
                             {"manifest", manifest},
                             {"changed", done->has_changed}});
}

Task<Response> pin(Core* core, Request* request) { return act_once(core, request, "pin", do_pin); }
Task<Response> unpin(Core* core, Request* request) {
  return act_once(core, request, "unpin", do_unpin);
}
Task<Response> reindex(Core* core, Request* request) {
  return act_once(core, request, "reindex", do_reindex);
}

std::string_view name_of(TargetKind kind) noexcept {
  switch (kind) {
    case TargetKind::Dht:
      return "dht";
    case TargetKind::Peer:
      return "peer";
    case TargetKind::Static:
      return "static";
  }
  return "unknown";
}

Task<Response> list_targets(Core* core, Request* request) {
  Searches& searches = core->searches();
  Value::Array targets;
  for (std::uint32_t i = 0; i < searches.targets().size(); ++i) {
    targets.emplace_back(
        Value::Map{{"url", searches.targets().name(i)},
                   {"kind", std::string(name_of(searches.targets().kind(i)))},
                   {"breaker", std::string(runtime::name(searches.breakers().state(i)))}});
  }
  co_return kit::document(*request, 200, Value::Map{{"targets", std::move(targets)}});
}

}  // namespace

void add_operator_routes(http::Router& router, Core& core) {
  const Access admin = Access::needs(Scope::kIndexAdmin);
  kit::Routes(router, core)
      .add(Method::Post, "/admin/pin", admin, pin)
      .add(Method::Post, "/admin/unpin", admin, unpin)
      .add(Method::Post, "/admin/reindex", admin, reindex)
      .list(kTargetList, admin, list_targets);
}

}  // namespace ron::index
