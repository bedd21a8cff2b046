// The log and what it says: versions, state, descriptors, checkpoints, proofs.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"
#include "services/registry/list_bounds.h"
#include "services/registry/rendered.h"
#include "services/registry/routes.h"

namespace ron::registry {
namespace {

using auth::Access;
using base::Code;
using base::Value;
using http::Method;
using http::Request;
using http::Response;
using kit::Lasting;
using kit::parse_number;
using kit::query_number;
using kit::refuse;
using kit::tagged_document;
using platform::Task;

Value version_value(const StoredVersion& version) {
  const base::ByteView bytes = base::as_bytes(version.bytes);
  const auto entry = chain::decode_entry(bytes);
  return Value::Map{{"version", version.head.version},
                    {"hash", version.head.hash.text()},
                    {"entry", Value(bytes)},
                    {"decoded", entry ? chain::describe(*entry) : Value()}};
}

// The document with its tag, unless the client has it.
Task<Response> tagged(Core* core, Request* request, std::string tag, Lasting lasting,
                      std::size_t bytes, MakeValue make) {
  Response head = kit::tagged_head(*request, tag, lasting);
  if (head.status == 304) co_return head;
  Response response = co_await rendered(&core->blocking(), request, 200, bytes, std::move(make));
  if (response.status == 200) response.lines += head.lines;
  co_return response;
}

Task<Response> get_version(Core* core, Request* request) {
  const auto version = parse_number(request->params[0]);
  if (!version) {
    co_return refuse(*request, {Code::NotFound, "there is nothing here; a version is a number"});
  }
  auto found = co_await core->versions(*version, 1);
  if (!found) co_return refuse(*request, found.error());
  StoredVersion one = std::move(found->front());
  const std::string tag = one.head.hash.text();
  const std::size_t bytes = one.bytes.size();
  co_return co_await tagged(core, request, tag, Lasting::Immutable, bytes,
                            [one = std::move(one)] { return version_value(one); });
}

Task<Response> get_log(Core* core, Request* request) {
  const auto from = query_number(*request, "from");
  if (!from) co_return refuse(*request, from.error());
  const auto limit = query_number(*request, "limit");
  if (!limit) co_return refuse(*request, limit.error());
  const chain::Head head = core->views().head()->head;
  std::uint64_t first = from->value_or(core->first_version());
  const std::uint64_t count =
      std::clamp<std::uint64_t>(limit->value_or(bounds::kLog.usual), 1, bounds::kLog.most);
  std::vector<StoredVersion> entries;
  std::size_t bytes = 0;
  std::uint64_t next = first;
  if (first <= head.version) {
    auto found = co_await core->versions(first, count);
    // Whoever did not say where to begin does not care what was pruned a moment ago.
    while (!found && found.error().code == Code::Pruned && !*from &&
           core->first_version() > first) {
      next = first = core->first_version();
      found = co_await core->versions(first, count);
    }
    if (!found) co_return refuse(*request, found.error());
    entries = std::move(*found);
    for (const StoredVersion& version : entries) bytes += version.bytes.size();
    next += entries.size();
  }
  const Value more = next <= head.version ? Value(next) : Value();
  const std::string tag =
      head.hash.text() + "-" + std::to_string(first) + "-" + std::to_string(count);
  co_return co_await tagged(
      core, request, tag, Lasting::Revalidate, bytes, [entries = std::move(entries), head, more] {
        Value::Array list;
        for (const StoredVersion& version : entries) {
          list.push_back(version_value(version));
        }
        return Value(Value::Map{
            {"entries", std::move(list)}, {"head", chain::to_value(head)}, {"next", more}});
      });
}

Task<Response> get_state(Core* core, Request* request) {
  const auto version = query_number(*request, "version");
  if (!version) co_return refuse(*request, version.error());
  StatePtr state = core->views().state();
  if (*version) {
    auto then = co_await core->state_at(**version, request->deadline);
    if (!then) co_return refuse(*request, then.error());
    state = std::move(*then);
  }
  const Lasting lasting = *version ? Lasting::Immutable : Lasting::Revalidate;
  std::string tag = state->head().hash.text();
  const std::size_t bytes = state->descriptors_bytes();
  if (bytes <= bounds::kStateWhole) {
    co_return co_await tagged(core, request, std::move(tag), lasting, bytes,
                              [state = std::move(state)] { return state_value(*state); });
  }
  Response response = kit::tagged_head(*request, tag, lasting);
  if (response.status == 304) co_return response;
  const bool is_cbor = kit::wants_cbor(*request);
  response.add("Content-Type", kit::content_type(is_cbor));
  response.body = http::StreamedBody{state_source(std::move(state), is_cbor)};
  co_return response;
}

Task<Response> get_descriptor(Core* core, Request* request) {
  const std::string key = std::string(request->params[0]) + "/" + std::string(request->params[1]);
  const chain::DescriptorPtr descriptor = core->views().descriptor(key);
  if (!descriptor) {
    co_return refuse(*request, {Code::NotFound, "there is no such descriptor"});
  }
  const std::string tag =
      chain::hash_of(base::as_bytes(base::encode_cbor(descriptor->value))).text();
  co_return tagged_document(*request, tag, Lasting::Revalidate, descriptor->value);
}

Value checkpoint_value(const SignedCheckpoint& checkpoint) {
  return Value::Map{{"version", checkpoint.checkpoint.version},
                    {"hash", checkpoint.checkpoint.hash.text()},
                    {"pruned_below", checkpoint.checkpoint.pruned_below},
                    {"note", checkpoint.note}};
}

// The newest ones, oldest first.
Task<Response> list_checkpoints(Core* core, Request* request) {
  const auto limit = query_number(*request, "limit");
  if (!limit) co_return refuse(*request, limit.error());
  auto all = core->checkpoints().list();
  const std::uint64_t count = std::min<std::uint64_t>(
      {limit->value_or(bounds::kCheckpoints.usual), bounds::kCheckpoints.most, all.size()});
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(count));
  std::size_t bytes = 0;
  for (const CheckpointPtr& one : all) bytes += one->note.size();
  co_return co_await rendered(
      &core->blocking(), request, 200, bytes, [all = std::move(all), vkey = core->vkey()] {
        Value::Array list;
        for (const CheckpointPtr& one : all) list.push_back(checkpoint_value(*one));
        return Value(Value::Map{{"checkpoints", std::move(list)}, {"vkey", vkey}});
      });
}

Task<Response> get_proof(Core* core, Request* request) {
  const auto version = parse_number(request->params[0]);
  if (!version) co_return refuse(*request, {Code::Malformed, "a version is a number"});
  auto proof = co_await core->proof(*version, request->deadline);
  if (!proof) co_return refuse(*request, proof.error());
  co_return Response::json(200, std::move(*proof));
}

}  // namespace

void add_log_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .add(Method::Get, "/registry/log", Access::read(), get_log)
      .add(Method::Get, "/registry/state", Access::read(), get_state)
      .add(Method::Get, "/registry/descriptors/{type}/{id}", Access::read(), get_descriptor)
      .add(Method::Get, "/registry/checkpoints", Access::read(), list_checkpoints)
      .add(Method::Get, "/registry/proof/{version}", Access::read(), get_proof)
      .add(Method::Get, "/registry/{version}", Access::read(), get_version);
}

}  // namespace ron::registry
