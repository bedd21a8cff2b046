#include "services/storage/routes.h"

#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "http/conditional.h"
#include "http/field_list.h"
#include "http/range.h"
#include "services/storage/object_source.h"

namespace ron::storage {
namespace {

using base::Code;
using http::Request;
using http::Response;
using platform::Task;

// 304 and 412 carry the object's validators and caching rules like a 200 would.
Response without_body(int status, const ObjectPtr& object) {
  Response response(status);
  response.prepared_lines = object->header_lines;
  response.owner = object;
  return response;
}

Response whole(const ObjectPtr& object) {
  Response response(200);
  response.prepared_lines = object->header_lines;
  response.body = http::SharedBody{object->bytes(), object->memory ? &object->memory : nullptr,
                                   object->framed()};
  response.owner = object;
  return response;
}

Response bad_range(const Request& request, http::RangeKind kind, std::uint64_t size) {
  if (kind == http::RangeKind::Malformed) {
    return refuse(request, {Code::BadRange, "the Range header is not bytes=FIRST-LAST"});
  }
  Response response =
      refuse(request, base::Error(Code::RangeNotSatisfiable, "the range lies outside the object")
                          .with("length", std::to_string(size)));
  http::ContentRangeText text;
  response.add("Content-Range", http::print_unsatisfied_range(size, text));
  return response;
}

Response not_this_object(const Request& request) {
  return refuse(request, {Code::PreconditionFailed, "If-Match does not name this object"});
}

Response ranged(const Request& request, const ObjectPtr& object, std::string_view range) {
  const std::uint64_t size = object->bytes().size();
  const http::RangeOutcome outcome = http::parse_range(range, size);
  if (outcome.kind == http::RangeKind::None) return whole(object);
  if (outcome.kind != http::RangeKind::Satisfiable) return bad_range(request, outcome.kind, size);
  http::ContentRangeText text;
  Response response = whole(object);
  response.status = 206;
  response.add("Content-Range", http::print_content_range(outcome.range, size, text));
  auto& shared = std::get<http::SharedBody>(response.body);
  shared.bytes = shared.bytes.subspan(outcome.range.first, outcome.range.length());
  shared.framed = {};
  return response;
}

http::EntityTag tag_of(const Object& object) {
  const std::string_view etag = object.etag;
  return {etag.substr(1, etag.size() - 2), false};
}

// An entity-tag and the text it is a view of.
struct OwnTag {
  std::string text;
  [[nodiscard]] http::EntityTag tag() const noexcept { return {text, false}; }
};

// What the client believes to be stored must be so before a write changes anything.
Task<base::Result<void>> check_preconditions(Api* api, const Request* request, base::ObjectId id) {
  using http::KnownField;
  const http::RequestHead& head = *request->head;
  if (!head.has(KnownField::IfMatch) && !head.has(KnownField::IfNoneMatch)) {
    co_return base::Result<void>();
  }
  const base::Result<Found> found = co_await api->locate(id);
  if (!found && found.error().code != Code::NotFound) co_return base::fail(found.error());
  const OwnTag own{id.text()};
  const auto tag = found ? std::optional(own.tag()) : std::nullopt;
  if (http::evaluate(head, tag) != http::Verdict::PreconditionFailed) {
    co_return base::Result<void>();
  }
  co_return base::fail(Code::PreconditionFailed, "If-Match or If-None-Match does not hold");
}

// The answer to a request for an object in memory.
Response answer_from_memory(const Request& request, const ObjectPtr& object) {
  const http::Verdict verdict = http::evaluate(*request.head, tag_of(*object));
  if (verdict == http::Verdict::NotModified) return without_body(304, object);
  if (verdict == http::Verdict::PreconditionFailed) return not_this_object(request);
  const auto range = request.head->get(http::KnownField::Range);
  const bool use_range =
      range && verdict != http::Verdict::IgnoreRange && request.head->method == http::Method::Get;
  return use_range ? ranged(request, object, *range) : whole(object);
}

// Which bytes of an object of `length` the request wants, or the answer when that cannot be.
struct Wanted {
  Response response;  // its head; the final answer if `is_final`
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool is_final = false;
};

Wanted wanted_bytes(const Request& request, const base::ObjectId& id, std::uint64_t length) {
  const OwnTag own{id.text()};
  const http::Verdict verdict = http::evaluate(*request.head, own.tag());
  if (verdict == http::Verdict::PreconditionFailed) return {not_this_object(request), 0, 0, true};
  Wanted wanted{Response(200), 0, length, false};
  wanted.response.lines = object_header_lines(id);
  if (verdict == http::Verdict::NotModified) {
    wanted.response.status = 304;
    wanted.is_final = true;
    return wanted;
  }
  const auto range = request.head->get(http::KnownField::Range);
  if (!range || verdict == http::Verdict::IgnoreRange ||
      request.head->method != http::Method::Get) {
    return wanted;
  }
  const http::RangeOutcome outcome = http::parse_range(*range, length);
  if (outcome.kind == http::RangeKind::None) return wanted;
  if (outcome.kind != http::RangeKind::Satisfiable) {
    return {bad_range(request, outcome.kind, length), 0, 0, true};
  }
  http::ContentRangeText text;
  wanted.response.status = 206;
  wanted.response.add("Content-Range", http::print_content_range(outcome.range, length, text));
  wanted.offset = outcome.range.first;
  wanted.length = outcome.range.length();
  return wanted;
}

// An object on a volume: the head from what is known of it, then all of it into memory or piece by
// piece to the client.
Task<Response> get_from_volume(Api* api, Request* request, base::ObjectId id) {
  base::Result<Found> found = co_await api->locate(id);
  if (!found) co_return refuse(*request, found.error());
  Wanted wanted = wanted_bytes(*request, id, found->length());
  if (wanted.is_final) co_return std::move(wanted.response);
  if (request->head->method == http::Method::Head) {
    wanted.response.body = http::SizedBody{nullptr, wanted.length};
    co_return std::move(wanted.response);
  }
  if (api->loads_whole(found->length())) {
    const base::Result<ObjectPtr> object = co_await api->load(std::move(*found), request->deadline);
    if (!object) co_return refuse(*request, object.error());
    co_return answer_from_memory(*request, *object);
  }
  if (wanted.length == 0) co_return std::move(wanted.response);
  ReadWish wish;
  wish.offset = wanted.offset;
  wish.length = piece_length(wanted.offset, wanted.length, api->chunk_bytes());
  wish.deadline = request->deadline;
  base::Result<volume::Piece> first = co_await api->read(*found, wish);
  if (!first) co_return refuse(*request, first.error());
  set_body(wanted.response, *api, {std::move(*found), wanted.offset, wanted.length},
           std::move(*first));
  co_return std::move(wanted.response);
}

Task<Response> get_object(Api* api, Request* request) {
  const auto id = base::ObjectId::parse(request->params[0]);
  if (!id) co_return refuse(*request, id.error());
  const ObjectPtr object = api->hot(*id);
  if (object) co_return answer_from_memory(*request, object);
  co_return co_await get_from_volume(api, request, *id);
}

// Reads the body and stores it; `expected` comes from the path of a PUT.
Task<base::Result<Stored>> take_body(Api* api, Request* request,
                                     std::optional<base::ObjectId> expected) {
  const base::Result<void> media = check_media(*request);
  if (!media) co_return base::fail(media.error());
  const base::Result<void> room = api->check_room();
  if (!room) co_return base::fail(room.error());
  if (expected) {
    const base::Result<void> holds = co_await check_preconditions(api, request, *expected);
    if (!holds) co_return base::fail(holds.error());
  }
  base::Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return base::fail(std::move(body.error()));
  const base::Result<void> granted = check_grant(*request, body->size());
  if (!granted) co_return base::fail(granted.error());
  NewBytes wish{std::move(*body), expected, request->tenant, origin_of(*request)};
  co_return co_await api->put(std::move(wish), request->deadline);
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
  const base::Result<Found> found = co_await api->locate(*id);
  if (!found && found.error().code == Code::NotFound) co_return refuse(*request, found.error());
  const base::Result<void> holds = co_await check_preconditions(api, request, *id);
  if (!holds) co_return refuse(*request, holds.error());
  volume::Removal removal{*id, request->tenant};
  if (request->grant_full) removal.tenant.reset();
  const base::Result<void> removed = co_await api->remove(std::move(removal), call_of(*request));
  if (!removed) co_return refuse(*request, removed.error());
  co_return no_content();
}

}  // namespace

Response no_content() {
  return Response(204);
}

Response refuse(const Request& request, const base::Error& error) {
  if (error.code == Code::Busy && request.route_meters != nullptr) {
    request.route_meters->busy_rejections.add();
  }
  return Response::error(error, request.corr_id);
}

Origin origin_of(const Request& request) {
  return {request.corr_id, request.tenant, request.token};
}

Call call_of(const Request& request) { return {request.deadline, origin_of(request)}; }

base::Result<void> check_grant(const Request& request, std::uint64_t bytes) {
  if (bytes <= request.grant_max_bytes) return {};
  return base::fail(base::Error(Code::Forbidden, "the capability allows smaller objects only")
                        .with("max_bytes", std::to_string(request.grant_max_bytes)));
}

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

http::Handler bind_api(Api& api, ApiHandler handler) {
  return [&api, handler](Request* request) { return handler(&api, request); };
}

void add_routes(http::Router& router, Api& api) {
  using auth::Access;
  using auth::Scope;
  using http::Method;
  router.add({.method = Method::Get,
              .pattern = "/o/{addr}",
              .access = Access::read(),
              .handler = bind_api(api, get_object)});
  router.add({.method = Method::Put,
              .pattern = "/o/{addr}",
              .access = Access::needs(Scope::kStorageWrite),
              .handler = bind_api(api, put_object)});
  router.add({.method = Method::Post,
              .pattern = "/o",
              .access = Access::needs(Scope::kStorageWrite),
              .handler = bind_api(api, post_object)});
  router.add({.method = Method::Delete,
              .pattern = "/o/{addr}",
              .access = Access::needs(Scope::kStorageDelete).or_fully(Scope::kStorageAdmin),
              .handler = bind_api(api, delete_object)});
  add_upload_routes(router, api);
}

}  // namespace ron::storage
