// The log and what it says: versions, state, descriptors, checkpoints, proofs.
#include <algorithm>
#include <string>
#include <utility>

#include "base/encoding.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"
#include "services/registry/routes.h"

namespace ron::registry {
namespace {

using auth::Access;
using base::Code;
using base::Value;
using http::Method;
using http::Request;
using http::Response;
using kit::document;
using kit::Lasting;
using kit::parse_number;
using kit::query_number;
using kit::refuse;
using kit::tagged_document;
using platform::Task;

constexpr std::uint64_t kMostVersions = 1000;
constexpr std::uint64_t kUsualVersions = 100;
constexpr std::uint64_t kMostCheckpoints = 1000;

Value version_value(const StoredVersion& version) {
  const base::ByteView bytes = base::as_bytes(version.bytes);
  const auto entry = chain::decode_entry(bytes);
  return Value::Map{{"version", version.head.version},
                    {"hash", version.head.hash.text()},
                    {"entry", Value(bytes)},
                    {"decoded", entry ? chain::describe(*entry) : Value()}};
}

Task<Response> get_version(Core* core, Request* request) {
  const auto version = parse_number(request->params[0]);
  if (!version) {
    co_return refuse(*request, {Code::NotFound, "there is nothing here; a version is a number"});
  }
  const auto found = co_await core->versions(*version, 1);
  if (!found) co_return refuse(*request, found.error());
  co_return tagged_document(*request, found->front().head.hash.text(), Lasting::Immutable,
                            version_value(found->front()));
}

Task<Response> get_log(Core* core, Request* request) {
  const auto from = query_number(*request, "from");
  if (!from) co_return refuse(*request, from.error());
  const auto limit = query_number(*request, "limit");
  if (!limit) co_return refuse(*request, limit.error());
  const chain::Head head = core->views().head()->head;
  std::uint64_t first = from->value_or(core->first_version());
  const std::uint64_t count =
      std::clamp<std::uint64_t>(limit->value_or(kUsualVersions), 1, kMostVersions);
  Value::Array entries;
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
    for (const StoredVersion& version : *found) entries.push_back(version_value(version));
    next += found->size();
  }
  const Value more = next <= head.version ? Value(next) : Value();
  const std::string tag =
      head.hash.text() + "-" + std::to_string(first) + "-" + std::to_string(count);
  co_return tagged_document(
      *request, tag, Lasting::Revalidate,
      Value::Map{{"entries", std::move(entries)}, {"head", chain::to_value(head)}, {"next", more}});
}

Value state_value(const chain::State& state) {
  Value::Array signers;
  for (const chain::Signer& signer : state.governance().set.signers) {
    Value::Map one = *chain::to_value(signer).map();
    one.emplace("id", signer.id);
    signers.emplace_back(std::move(one));
  }
  Value::Array revoked;
  for (const std::string& id : state.governance().revoked) revoked.emplace_back(id);
  Value::Array descriptors;
  for (const auto& [key, descriptor] : state.descriptors()) {
    descriptors.push_back(descriptor->value);
  }
  return Value::Map{{"head", chain::to_value(state.head())},
                    {"log", state.log().text()},
                    {"threshold", state.governance().set.threshold},
                    {"signers", std::move(signers)},
                    {"revoked", std::move(revoked)},
                    {"descriptors", std::move(descriptors)}};
}

Task<Response> get_state(Core* core, Request* request) {
  const auto version = query_number(*request, "version");
  if (!version) co_return refuse(*request, version.error());
  if (!*version) {
    const chain::State state = core->views().state();
    co_return tagged_document(*request, state.head().hash.text(), Lasting::Revalidate,
                              state_value(state));
  }
  const auto state = co_await core->state_at(**version, request->deadline);
  if (!state) co_return refuse(*request, state.error());
  co_return tagged_document(*request, state->head().hash.text(), Lasting::Immutable,
                            state_value(*state));
}

Task<Response> get_descriptor(Core* core, Request* request) {
  const std::string key = std::string(request->params[0]) + "/" + std::string(request->params[1]);
  const HeadPtr head = core->views().head();
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
  const auto all = core->checkpoints().list();
  const std::uint64_t count =
      std::min<std::uint64_t>({limit->value_or(kMostCheckpoints), kMostCheckpoints, all.size()});
  Value::Array list;
  for (std::size_t i = all.size() - count; i < all.size(); ++i) {
    list.push_back(checkpoint_value(*all[i]));
  }
  co_return document(*request, 200,
                     Value::Map{{"checkpoints", std::move(list)}, {"vkey", core->vkey()}});
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
