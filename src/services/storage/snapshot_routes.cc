// The operators' routes under /admin/snapshot: copies of the data directories as of one moment.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "services/storage/admin_routes.h"
#include "services/storage/flat_json.h"
#include "services/storage/lists.h"
#include "services/storage/routes.h"

namespace ron::storage {
namespace {

using base::Code;
using base::Result;
using http::Request;
using http::Response;
using platform::Task;
using volume::Snapshot;

// Every data directory's; none in amnesia mode.
std::vector<volume::Maintenance*> media(Core& core) {
  std::vector<volume::Maintenance*> all;
  for (const auto& volume : core.volumes().all()) {
    if (volume->maintenance() != nullptr) all.push_back(volume->maintenance());
  }
  return all;
}

base::Error nothing_on_disk() {
  return {Code::NotFound, "in amnesia mode nothing is on disk: there is nothing to take a copy of"};
}

Result<std::string> parse_name(std::string_view text) {
  const auto json = parse_flat_object(text);
  if (!json || json->size() != 1 || !json->contains("name") || !(*json)["name"].is_string()) {
    return base::fail(Code::Malformed, R"(the body is not {"name":"NAME"})");
  }
  return (*json)["name"].get<std::string>();
}

// One name's snapshots, of all data directories.
void write_snapshots(base::JsonWriter& json, const std::vector<Snapshot>& of_one_name) {
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;
  json.begin_object().key("name").value(of_one_name.front().name);
  json.key("paths").begin_array();
  for (const Snapshot& snapshot : of_one_name) {
    json.value(snapshot.path);
    segments += snapshot.segments;
    bytes += snapshot.bytes;
  }
  json.end_array().key("segments").value(segments).key("bytes").value(bytes).end_object();
}

// What takes a snapshot back that others could not follow has time of its own.
constexpr base::Duration kTakeBackTime = std::chrono::seconds(30);

// Of every data directory, or of none.
Task<Result<std::vector<Snapshot>>> make_all(Core* core, std::string name,
                                             runtime::Deadline deadline) {
  std::vector<Snapshot> made;
  const std::vector<volume::Maintenance*> all = media(*core);
  for (volume::Maintenance* const medium : all) {
    Result<Snapshot> snapshot = co_await medium->make_snapshot(name, deadline);
    if (!snapshot) {
      for (std::size_t i = 0; i < made.size(); ++i) {
        const auto soon = runtime::Deadline::in(kTakeBackTime);
        static_cast<void>(co_await all[i]->remove_snapshot(name, soon));
      }
      co_return base::fail(std::move(snapshot.error()));
    }
    made.push_back(std::move(*snapshot));
  }
  co_return made;
}

Task<Response> make_snapshot(Core* core, Request* request) {
  if (media(*core).empty()) co_return refuse(*request, nothing_on_disk());
  const Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return refuse(*request, body.error());
  const Result<std::string> name = parse_name(base::as_text(body->view()));
  if (!name) co_return refuse(*request, name.error());
  const auto made = co_await make_all(core, *name, request->deadline);
  if (!made) co_return refuse(*request, made.error());
  std::string json_text;
  base::JsonWriter json(json_text);
  write_snapshots(json, *made);
  Response response = Response::json(201, std::move(json_text));
  response.add("Location", "/admin/snapshot/" + *name);
  co_return response;
}

Task<Response> list_snapshots(Core* core, Request* request) {
  if (media(*core).empty()) co_return refuse(*request, nothing_on_disk());
  std::map<std::string, std::vector<Snapshot>> by_name;
  for (volume::Maintenance* const medium : media(*core)) {
    Result<std::vector<Snapshot>> listed = co_await medium->list_snapshots(request->deadline);
    if (!listed) co_return refuse(*request, listed.error());
    for (Snapshot& snapshot : *listed) by_name[snapshot.name].push_back(std::move(snapshot));
  }
  std::string json_text;
  base::JsonWriter json(json_text);
  json.begin_object().key("snapshots").begin_array();
  for (const auto& [name, snapshots] : by_name) write_snapshots(json, snapshots);
  json.end_array().end_object();
  co_return Response::json(200, std::move(json_text));
}

// From every data directory that has it.
Task<Response> remove_snapshot(Core* core, Request* request) {
  if (media(*core).empty()) co_return refuse(*request, nothing_on_disk());
  const std::string name(request->params[0]);
  bool removed_any = false;
  base::Error why(Code::NotFound, "there is no such snapshot");
  for (volume::Maintenance* const medium : media(*core)) {
    const Result<void> removed = co_await medium->remove_snapshot(name, request->deadline);
    removed_any = removed_any || removed.has_value();
    if (!removed && removed.error().code != Code::NotFound) {
      co_return refuse(*request, removed.error());
    }
  }
  if (!removed_any) co_return refuse(*request, why);
  co_return no_content();
}

}  // namespace

void add_snapshot_routes(http::Router& router, Core& core) {
  using http::Method;
  const auto add = [&router, &core](Method method, std::string pattern,
                                    Task<Response> (*handler)(Core*, Request*)) {
    router.add({.method = method,
                .pattern = std::move(pattern),
                .access = auth::Access::needs(auth::Scope::kStorageAdmin),
                .handler = [&core, handler](Request* request) { return handler(&core, request); }});
  };
  add(Method::Post, "/admin/snapshot", make_snapshot);
  add(Method::Get, std::string(kSnapshotList.pattern), list_snapshots);
  add(Method::Delete, "/admin/snapshot/{name}", remove_snapshot);
}

}  // namespace ron::storage
