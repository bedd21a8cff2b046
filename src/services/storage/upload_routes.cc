// The routes under /uploads: objects larger than one body, part by part.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/json.h"
#include "base/rfc3339.h"
#include "services/kit/documents.h"
#include "services/storage/lists.h"
#include "services/storage/routes.h"
#include "services/storage/upload_request.h"

namespace ron::storage {
namespace {

using base::Code;
using http::Request;
using http::Response;
using platform::Task;

base::Result<volume::UploadId> upload_id(const Request& request) {
  const auto id = base::Ulid::parse(request.params[0]);
  if (!id) return base::fail(Code::NotFound, "there is no such upload");
  return *id;
}

Task<Response> begin_upload(ObjectStore* store, Request* request) {
  const base::Result<void> room = store->check_room();
  if (!room) co_return refuse(*request, room.error());
  const base::Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return refuse(*request, body.error());
  const auto wanted = parse_upload_request(base::as_text(body->view()));
  if (!wanted) co_return refuse(*request, wanted.error());
  const base::Result<void> granted = check_grant(*request, wanted->length);
  if (!granted) co_return refuse(*request, granted.error());
  NewUpload asked{wanted->length, wanted->address, request->tenant};
  const auto begun = co_await store->begin_upload(std::move(asked), request->deadline);
  if (!begun) co_return refuse(*request, begun.error());
  std::string json_text;
  base::JsonWriter json(json_text);
  json.begin_object().key("upload_id").value(begun->id.text());
  json.key("part_size").value(volume::kPartBytes);
  json.key("expires_at").value(base::print_rfc3339(begun->expires_unix_s)).end_object();
  Response response = Response::json(201, std::move(json_text));
  response.add("Location", "/uploads/" + std::string(begun->id.text()));
  co_return response;
}

Task<Response> put_part(ObjectStore* store, Request* request) {
  const auto id = upload_id(*request);
  if (!id) co_return refuse(*request, id.error());
  const base::Result<OpenUpload> open =
      co_await store->open_upload(*id, request->tenant, request->deadline);
  if (!open) co_return refuse(*request, open.error());
  const auto part = parse_part_number(request->params[1]);
  if (!part) co_return refuse(*request, part.error());
  const base::Result<void> exists = check_part_number(open->upload, *part);
  if (!exists) co_return refuse(*request, exists.error());
  const base::Result<void> media = check_media(*request);
  if (!media) co_return refuse(*request, media.error());
  const base::Result<void> room = store->check_room();
  if (!room) co_return refuse(*request, room.error());
  base::Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return refuse(*request, body.error());
  const base::Result<void> fits = check_part_length(open->upload, *part, body->size());
  if (!fits) co_return refuse(*request, fits.error());
  const auto value = co_await store->put_part(*open, *part, std::move(*body), request->deadline);
  if (!value) co_return refuse(*request, value.error());
  std::string json_text;
  base::JsonWriter json(json_text);
  json.begin_object().key("part").value(*part);
  json.key("b3_subtree").value(base::to_hex(value->bytes)).end_object();
  co_return Response::json(200, std::move(json_text));
}

// A page of them, those behind `after`; `next` if there are more.
void write_arrived(base::JsonWriter& json, const std::vector<volume::PartRange>& arrived,
                   std::optional<std::uint64_t> after, std::uint64_t limit) {
  auto range = arrived.begin();
  if (after) range = std::ranges::upper_bound(arrived, *after, {}, &volume::PartRange::last);
  json.key("arrived").begin_array();
  std::uint64_t last = 0;
  for (; range != arrived.end() && limit > 0; ++range, --limit) {
    json.begin_array().value(range->first).value(range->last).end_array();
    last = range->last;
  }
  json.end_array();
  if (range != arrived.end()) json.key("next").value(last);
}

// `next` is the `after` of the next page; it is missing at the end.
Task<Response> show_upload(ObjectStore* store, Request* request) {
  const auto id = upload_id(*request);
  if (!id) co_return refuse(*request, id.error());
  const auto after = kit::query_number(*request, "after");
  if (!after) co_return refuse(*request, after.error());
  const auto limit = kit::query_number(*request, "limit");
  if (!limit) co_return refuse(*request, limit.error());
  const auto state = co_await store->upload_state(*id, request->tenant, request->deadline);
  if (!state) co_return refuse(*request, state.error());
  const volume::Upload& upload = state->upload;
  std::string json_text;
  base::JsonWriter json(json_text);
  json.begin_object().key("upload_id").value(upload.id.text());
  json.key("length").value(upload.length).key("part_size").value(volume::kPartBytes);
  json.key("expires_at").value(base::print_rfc3339(upload.expires_unix_s));
  if (upload.expected) json.key("address").value(upload.expected->text());
  write_arrived(
      json, state->arrived, *after,
      std::clamp<std::uint64_t>(limit->value_or(kArrivedList.usual), 1, kArrivedList.most));
  json.end_object();
  co_return Response::json(200, std::move(json_text));
}

Task<Response> commit_upload(ObjectStore* store, Request* request) {
  const auto id = upload_id(*request);
  if (!id) co_return refuse(*request, id.error());
  // Whoever began it may have been allowed more.
  const base::Result<OpenUpload> open =
      co_await store->open_upload(*id, request->tenant, request->deadline);
  if (open) {
    const base::Result<void> granted = check_grant(*request, open->upload.length);
    if (!granted) co_return refuse(*request, granted.error());
  }
  const auto stored = co_await store->commit_upload(*id, request->tenant, call_of(*request));
  if (!stored) co_return refuse(*request, stored.error());
  std::string json_text;
  base::JsonWriter json(json_text);
  json.begin_object().key("address").value(stored->id.text());
  json.key("length").value(stored->length).end_object();
  Response response = Response::json(201, std::move(json_text));
  response.add("ETag", "\"" + stored->id.text() + "\"");
  response.add("Location", "/o/" + stored->id.text());
  co_return response;
}

Task<Response> abort_upload(ObjectStore* store, Request* request) {
  const auto id = upload_id(*request);
  if (!id) co_return refuse(*request, id.error());
  const auto aborted = co_await store->abort_upload(*id, request->tenant, request->deadline);
  if (!aborted) co_return refuse(*request, aborted.error());
  co_return no_content();
}

}  // namespace

void add_upload_routes(http::Router& router, ObjectStore& store) {
  using http::Method;
  const auto add = [&router, &store](Method method, std::string pattern,
                                     kit::ApiHandler<ObjectStore> handler, auth::Scope scope) {
    router.add({.method = method,
                .pattern = std::move(pattern),
                .access = auth::Access::needs(scope),
                .handler = bind_api(store, handler)});
  };
  add(Method::Post, "/uploads", begin_upload, auth::Scope::kStorageWrite);
  add(Method::Put, "/uploads/{id}/{n}", put_part, auth::Scope::kStorageWrite);
  add(Method::Get, std::string(kArrivedList.pattern), show_upload, auth::Scope::kStorageWrite);
  add(Method::Post, "/uploads/{id}/commit", commit_upload, auth::Scope::kStorageWrite);
  add(Method::Delete, "/uploads/{id}", abort_upload, auth::Scope::kStorageDelete);
}

}  // namespace ron::storage
