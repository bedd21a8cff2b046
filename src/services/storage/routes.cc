#include "services/storage/routes.h"

#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "http/conditional.h"
#include "http/range.h"

namespace ron::storage {
namespace {

using base::Code;
using http::Request;
using http::Response;
using platform::Task;

Response refuse(const Request& request, const base::Error& error) {
  return Response::error(error, request.corr_id);
}

// 304 and 412 carry the object's validators and caching rules like a 200 would.
Response without_body(int status, const ObjectPtr& object) {
  Response response(status);
  response.prepared_lines = object->header_lines;
  response.owner = object;
  response.no_content_length = status == 304;
  return response;
}

Response whole(const ObjectPtr& object) {
  Response response(200);
  response.prepared_lines = object->header_lines;
  response.shared_body = object->bytes();
  response.memory = object->memory ? &object->memory : nullptr;
  response.framed_body = object->framed();
  response.owner = object;
  return response;
}

Response ranged(const Request& request, const ObjectPtr& object, std::string_view range) {
  const std::uint64_t size = object->bytes().size();
  const http::RangeOutcome outcome = http::parse_range(range, size);
  http::ContentRangeText text;
  switch (outcome.kind) {
    case http::RangeKind::None:
      return whole(object);
    case http::RangeKind::Malformed:
      return refuse(request, {Code::BadRange, "the Range header is not bytes=FIRST-LAST"});
    case http::RangeKind::Unsatisfiable: {
      Response response = refuse(
          request, base::Error(Code::RangeNotSatisfiable, "the range lies outside the object")
                       .with("length", std::to_string(size)));
      response.add("Content-Range", http::print_unsatisfied_range(size, text));
      return response;
    }
    case http::RangeKind::Satisfiable:
      break;
  }
  Response response = whole(object);
  response.status = 206;
  response.add("Content-Range", http::print_content_range(outcome.range, size, text));
  response.shared_body = object->bytes().subspan(outcome.range.first, outcome.range.length());
  response.framed_body = {};
  return response;
}

http::EntityTag tag_of(const Object& object) {
  const std::string_view etag = object.etag;
  return {etag.substr(1, etag.size() - 2), false};
}

// What the client believes to be stored must be so before a write changes anything.
base::Result<void> check_preconditions(const Api& api, const Request& request,
                                       const base::ObjectId& id) {
  using http::KnownField;
  const http::RequestHead& head = *request.head;
  if (!head.has(KnownField::IfMatch) && !head.has(KnownField::IfNoneMatch)) return {};
  const auto object = api.get(id);
  const auto tag = object ? std::optional(tag_of(**object)) : std::nullopt;
  if (http::evaluate(head, tag) != http::Verdict::PreconditionFailed) return {};
  return base::fail(Code::PreconditionFailed, "If-Match or If-None-Match does not hold");
}

Task<Response> get_object(Api* api, Request* request) {
  const auto id = base::ObjectId::parse(request->params[0]);
  if (!id) co_return refuse(*request, id.error());
  const auto object = api->get(*id);
  if (!object) co_return refuse(*request, object.error());
  const http::Verdict verdict = http::evaluate(*request->head, tag_of(**object));
  if (verdict == http::Verdict::NotModified) co_return without_body(304, *object);
  if (verdict == http::Verdict::PreconditionFailed) {
    co_return refuse(*request, {Code::PreconditionFailed, "If-Match does not name this object"});
  }
  const auto range = request->head->get(http::KnownField::Range);
  const bool use_range =
      range && verdict != http::Verdict::IgnoreRange && request->head->method == http::Method::Get;
  if (use_range) co_return ranged(*request, *object, *range);
  co_return whole(*object);
}

// Reads the body and stores it; `expected` comes from the path of a PUT.
Task<base::Result<Stored>> take_body(Api* api, Request* request,
                                     std::optional<base::ObjectId> expected) {
  const base::Result<void> room = api->check_room();
  if (!room) co_return base::fail(room.error());
  if (expected) {
    const base::Result<void> holds = check_preconditions(*api, *request, *expected);
    if (!holds) co_return base::fail(holds.error());
  }
  base::Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return base::fail(std::move(body.error()));
  if (body->size() > request->grant_max_bytes) {
    co_return base::fail(base::Error(Code::Forbidden, "the capability allows smaller objects only")
                             .with("max_bytes", std::to_string(request->grant_max_bytes)));
  }
  co_return co_await api->put(std::move(*body), expected, request->deadline);
}

Response stored_response(const Request& request, const base::Result<Stored>& stored) {
  if (!stored) {
    Response response = refuse(request, stored.error());
    if (stored.error().code == Code::Busy) request.route_meters->busy_rejections.add();
    return response;
  }
  std::string body;
  base::JsonWriter json(body);
  json.begin_object()
      .key("address")
      .value(stored->id.text())
      .key("length")
      .value(stored->length)
      .end_object();
  Response response = Response::json(stored->is_new ? 201 : 200, std::move(body));
  response.add("ETag", "\"" + stored->id.text() + "\"");
  response.add("Location", "/o/" + stored->id.text());
  return response;
}

Task<Response> put_object(Api* api, Request* request) {
  const auto id = base::ObjectId::parse(request->params[0]);
  if (!id) co_return refuse(*request, id.error());
  const base::Result<Stored> stored = co_await take_body(api, request, *id);
  co_return stored_response(*request, stored);
}

Task<Response> post_object(Api* api, Request* request) {
  const base::Result<Stored> stored = co_await take_body(api, request, std::nullopt);
  co_return stored_response(*request, stored);
}

Task<Response> delete_object(Api* api, Request* request) {
  const auto id = base::ObjectId::parse(request->params[0]);
  if (!id) co_return refuse(*request, id.error());
  const auto object = api->get(*id);
  if (!object) co_return refuse(*request, object.error());
  const base::Result<void> holds = check_preconditions(*api, *request, *id);
  if (!holds) co_return refuse(*request, holds.error());
  const base::Result<void> removed = api->remove(*id);
  if (!removed) co_return refuse(*request, removed.error());
  Response response(204);
  response.no_content_length = true;
  co_return response;
}

}  // namespace

void add_routes(http::Router& router, Api& api) {
  using http::Method;
  const auto bind = [&api](Task<Response> (*handler)(Api*, Request*)) -> http::Handler {
    return [&api, handler](Request* request) { return handler(&api, request); };
  };
  router.add({.method = Method::Get,
              .pattern = "/o/{addr}",
              .handler = bind(get_object),
              .is_read = true});
  router.add({.method = Method::Put,
              .pattern = "/o/{addr}",
              .handler = bind(put_object),
              .scope = "storage:write"});
  router.add({.method = Method::Post,
              .pattern = "/o",
              .handler = bind(post_object),
              .scope = "storage:write"});
  router.add({.method = Method::Delete,
              .pattern = "/o/{addr}",
              .handler = bind(delete_object),
              .scope = "storage:delete"});
}

}  // namespace ron::storage
