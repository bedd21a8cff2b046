#include "services/storage/routes.h"

#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "http/conditional.h"
#include "http/field_list.h"
#include "http/selection.h"
#include "services/storage/object_source.h"

namespace ron::storage {
namespace {

using base::Code;
using http::Request;
using http::Response;
using platform::Task;

// An entity-tag and the text it is a view of.
struct OwnTag {
  std::string text;
  [[nodiscard]] http::EntityTag tag() const noexcept { return {text, false}; }
};

// What the client believes to be stored must be so before a write changes anything.
Task<base::Result<void>> check_preconditions(ObjectStore* store, const Request* request,
                                             base::ObjectId id) {
  using http::KnownField;
  const http::RequestHead& head = *request->head;
  if (!head.has(KnownField::IfMatch) && !head.has(KnownField::IfNoneMatch)) {
    co_return base::Result<void>();
  }
  const base::Result<LocatedObject> found = co_await store->locate(id, request->deadline);
  if (!found && found.error().code != Code::NotFound) co_return base::fail(found.error());
  const OwnTag own{id.text()};
  const auto tag = found ? std::optional(own.tag()) : std::nullopt;
  if (http::evaluate(head, tag) != http::Verdict::PreconditionFailed) {
    co_return base::Result<void>();
  }
  co_return base::fail(Code::PreconditionFailed, "If-Match or If-None-Match does not hold");
}

// An object on a volume: the head from what is known of it, then all of it into memory or piece by
// piece to the client.
Task<Response> get_from_volume(ObjectStore* store, Request* request, base::ObjectId id) {
  base::Result<LocatedObject> found = co_await store->locate(id, request->deadline);
  if (!found) co_return refuse(*request, found.error());
  const std::uint64_t length = found->length();
  const OwnTag own{id.text()};
  const http::Selection selection = http::select(*request->head, own.tag(), length);
  Response response = kit::head_for(*request, selection, length);
  if (kit::describes_it(selection)) response.lines += object_header_lines(id);
  if (!selection.selects() || selection.length == 0) co_return response;
  if (request->head->method == http::Method::Head) {
    response.body = http::SizedBody{nullptr, selection.length};
    co_return response;
  }
  base::Result<OpenedRange> opened = co_await open_range(
      store, {std::move(*found), selection.offset, selection.length}, request->deadline);
  if (!opened) co_return refuse(*request, opened.error());
  if (opened->cached) co_return kit::answer(*request, opened->cached, selection);
  set_body(response, *store, std::move(*opened));
  co_return response;
}

Task<Response> get_object(ObjectStore* store, Request* request) {
  const auto id = base::ObjectId::parse(request->params[0]);
  if (!id) co_return refuse(*request, id.error());
  const ObjectPtr object = store->cached(*id);
  if (!object) co_return co_await get_from_volume(store, request, *id);
  co_return kit::answer(*request, object);
}

// Reads the body and stores it; `expected` comes from the path of a PUT.
Task<base::Result<Stored>> take_body(ObjectStore* store, Request* request,
                                     std::optional<base::ObjectId> expected) {
  const base::Result<void> media = check_media(*request);
  if (!media) co_return base::fail(media.error());
  const base::Result<void> room = store->check_room();
  if (!room) co_return base::fail(room.error());
  if (expected) {
    const base::Result<void> holds = co_await check_preconditions(store, request, *expected);
    if (!holds) co_return base::fail(holds.error());
  }
  base::Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return base::fail(std::move(body.error()));
  NewBytes asked{std::move(*body), expected, request->tenant, origin_of(*request)};
  co_return co_await store->put(std::move(asked), request->deadline);
}

Response stored_response(const Request& request, const base::Result<Stored>& stored) {
  if (!stored) return refuse(request, stored.error());
  const std::string location = "/o/" + stored->id.text();
  const std::string_view address = std::string_view(location).substr(3);
  std::string body;
  body.reserve(128);
  base::JsonWriter json(body);
  json.begin_object()
      .key("address")
      .value(address)
      .key("length")
      .value(stored->length)
      .end_object();
  Response response(stored->is_new ? 201 : 200);
  response.lines.reserve(256);
  response.add("Content-Type", "application/json");
  response.add("ETag", std::string("\"").append(address).append("\""));
  response.add("Location", location);
  response.body = std::move(body);
  return response;
}

Task<Response> put_object(ObjectStore* store, Request* request) {
  const auto id = base::ObjectId::parse(request->params[0]);
  if (!id) co_return refuse(*request, id.error());
  const base::Result<Stored> stored = co_await take_body(store, request, *id);
  co_return stored_response(*request, stored);
}

Task<Response> post_object(ObjectStore* store, Request* request) {
  const base::Result<Stored> stored = co_await take_body(store, request, std::nullopt);
  co_return stored_response(*request, stored);
}

Task<Response> delete_object(ObjectStore* store, Request* request) {
  const auto id = base::ObjectId::parse(request->params[0]);
  if (!id) co_return refuse(*request, id.error());
  const base::Result<LocatedObject> found = co_await store->locate(*id, request->deadline);
  if (!found && found.error().code == Code::NotFound) co_return refuse(*request, found.error());
  const base::Result<void> holds = co_await check_preconditions(store, request, *id);
  if (!holds) co_return refuse(*request, holds.error());
  volume::Removal removal{*id, request->tenant};
  if (request->grant_full) removal.tenant.reset();
  const base::Result<void> removed = co_await store->remove(std::move(removal), call_of(*request));
  if (!removed) co_return refuse(*request, removed.error());
  co_return no_content();
}

}  // namespace

Response no_content() { return Response(204); }

Origin origin_of(const Request& request) {
  return {request.corr_id, request.tenant, request.token};
}

Call call_of(const Request& request) { return {request.deadline, origin_of(request)}; }

base::Result<void> check_media(const Request& request) {
  constexpr std::string_view kForm = "multipart/form-data";
  const std::string_view type = request.head->get(http::KnownField::ContentType).value_or("");
  if (!http::iequals(type.substr(0, kForm.size()), kForm)) return {};
  const bool is_put = request.head->method == http::Method::Put;
  return base::fail(Code::UnsupportedMedia,
                    std::string("this is a form; send the bytes themselves: ") +
                        (is_put ? "curl -T FILE URL" : "curl --data-binary @FILE URL") +
                        " -H \"Authorization: Bearer $TOKEN\"");
}

void add_routes(http::Router& router, ObjectStore& store) {
  using auth::Access;
  using auth::Scope;
  using http::Method;
  router.add({.method = Method::Get,
              .pattern = "/o/{addr}",
              .access = Access::read(),
              .handler = bind_api(store, get_object)});
  router.add({.method = Method::Put,
              .pattern = "/o/{addr}",
              .access = Access::needs(Scope::kStorageWrite),
              .handler = bind_api(store, put_object)});
  router.add({.method = Method::Post,
              .pattern = "/o",
              .access = Access::needs(Scope::kStorageWrite),
              .handler = bind_api(store, post_object)});
  router.add({.method = Method::Delete,
              .pattern = "/o/{addr}",
              .access = Access::needs(Scope::kStorageDelete).or_fully(Scope::kStorageAdmin),
              .handler = bind_api(store, delete_object)});
  add_upload_routes(router, store);
}

}  // namespace ron::storage
