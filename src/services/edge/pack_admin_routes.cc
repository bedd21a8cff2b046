#include <string>
#include <utility>

#include "base/json.h"
#include "chain/fields.h"
#include "services/edge/routes.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::edge {
namespace {

using auth::Access;
using auth::Scope;
using base::Code;
using base::fail;
using base::Result;
using http::Method;
using http::Request;
using http::Response;
using kit::refuse;
using platform::Task;

constexpr std::size_t kPathChars = 4000;  // what the book can keep

// `"404"` or `404`.
Result<MissingTile> parse_missing(const base::Value& value) {
  const std::string* const text = value.text();
  const std::string given =
      text != nullptr ? *text : std::to_string(value.unsigned_number().value_or(0));
  if (given == "204") return MissingTile::NoContent;
  if (given == "404") return MissingTile::NotFound;
  return fail(Code::Malformed, "missing is 204 or 404");
}

// `{"name":"world","path":"/maps/world.pmtiles","missing":"404"}`.
Task<Result<MountOrder>> read_order(Request* request) {
  const auto value = co_await kit::read_document(request);
  if (!value) co_return fail(value.error());
  const auto fields = chain::Fields::of(*value, "the request", {"name", "path", "missing"});
  if (!fields) co_return fail(fields.error());
  auto name = fields->text("name", kPackNameBytes);
  if (!name) co_return fail(name.error());
  auto path = fields->text("path", kPathChars);
  if (!path) co_return fail(path.error());
  if (!is_pack_name(*name)) {
    co_return fail(Code::Malformed,
                   "a pack's name is up to 64 lower-case letters, digits, '.', '_' and '-', and "
                   "does not begin with a dot");
  }
  if (!path->starts_with('/')) co_return fail(Code::Malformed, "path must be absolute");
  MountOrder order{.name = std::move(*name), .path = std::move(*path)};
  if (fields->has("missing")) {
    const auto missing = parse_missing(**fields->any("missing"));
    if (!missing) co_return fail(missing.error());
    order.missing = *missing;
  }
  co_return order;
}

Task<Response> add_pack(Core* core, Request* request) {
  auto order = co_await read_order(request);
  if (!order) co_return refuse(*request, order.error());
  const auto added =
      co_await core->pack_orders().add(std::move(*order), operator_of(*request), request->deadline);
  if (!added) co_return refuse(*request, added.error());
  const MountEntry entry{.order = added->mount->order, .mount = added->mount};
  std::string body;
  base::JsonWriter json(body);
  write_pack(json, entry.order.name, entry);
  co_return Response::json(added->is_new ? 201 : 200, body + "\n");
}

Task<Response> remove_pack(Core* core, Request* request) {
  const auto removed = co_await core->pack_orders().remove(
      std::string(request->params[0]), operator_of(*request), request->deadline);
  if (!removed) co_return refuse(*request, removed.error());
  co_return Response(204);
}

}  // namespace

void add_pack_admin_routes(http::Router& router, Core& core) {
  const Access admin = Access::needs(Scope::kEdgeAdmin);
  kit::Routes(router, core)
      .add(Method::Post, "/admin/packs", admin, add_pack)
      .add(Method::Delete, "/admin/packs/{pack}", admin, remove_pack);
}

}  // namespace ron::edge
