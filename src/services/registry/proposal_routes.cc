// Proposals, approvals and commits.
#include <algorithm>
#include <string>
#include <utility>

#include "auth/digest.h"
#include "base/encoding.h"
#include "base/json.h"
#include "base/rfc3339.h"
#include "chain/fields.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"
#include "services/registry/difference.h"
#include "services/registry/routes.h"

namespace ron::registry {
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
using kit::document;
using kit::read_document;
using kit::refuse;
using kit::wants_cbor;
using platform::Task;

Origin origin_of(const Request& request) { return {request.corr_id, request.token}; }

std::string text_to_sign(const Core& core, const Proposed& what) {
  const auto log = core.views().with_state([](const chain::State& state) { return state.log(); });
  return chain::approval_text(log, what.id.text(), what.payload_b3, what.expires_ms);
}

Value::Map proposal_value(const Core& core, const Proposal& proposal) {
  const Proposed& what = *proposal.what;
  return {{"proposal", what.id.text()},
          {"payload_b3", what.payload_b3.text()},
          {"sign", text_to_sign(core, what)},
          {"expires_at", base::print_rfc3339(what.expires_ms / 1000)},
          {"threshold", core.views().with_state([](const chain::State& state) {
             return state.governance().set.threshold;
           })}};
}

// Where others will decide: enough of them have to agree as well.
void add_both(Value::Map& to, const chain::Tally& tally) {
  if (tally.need_new == 0) return;
  to.emplace("have", tally.have);
  to.emplace("have_new", tally.have_new);
  to.emplace("need_new", tally.need_new);
}

// Of one who decides now, or who will if the change still fits.
Value name_of(const chain::State& state, const chain::Change& change, bool fits,
              std::string_view id) {
  if (fits) {
    const auto signer = state.signer_of(change, id);
    return signer ? Value(signer->name) : Value();
  }
  const chain::Signer* const signer = state.governance().set.find(id);
  return signer != nullptr ? Value(signer->name) : Value();
}

// With the approvals so far, and what would change.
Value details_value(const Core& core, const chain::State& state, const Proposal& proposal,
                    std::int64_t now_ms) {
  const Proposed& what = *proposal.what;
  const chain::Change& change = what.parsed.change;
  const bool fits = state.check(what.parsed).has_value();
  Value::Array approvals;
  for (const chain::Approval& approval : proposal.approvals) {
    approvals.emplace_back(Value::Map{{"signer", approval.signer},
                                      {"name", name_of(state, change, fits, approval.signer)},
                                      {"signature", base::to_base64(approval.signature)}});
  }
  Value::Map map = proposal_value(core, proposal);
  const chain::Tally tally =
      fits ? state.tally(change, proposal.approvals, now_ms) : chain::Tally();
  const bool is_ready = fits && tally.is_quorum();
  map.emplace("kind", change.kind());
  map.emplace("payload", base::decode_cbor(base::as_bytes(what.payload)).value_or(Value()));
  map.emplace("payload_cbor", Value(base::as_bytes(what.payload)));  // what payload_b3 is of
  map.emplace("approvals", std::move(approvals));
  add_both(map, tally);
  map.emplace("ready", is_ready);
  map.emplace("fits_head", fits);
  map.emplace("difference", difference(state, what.parsed));
  map.emplace("proposed_at", base::print_rfc3339(what.at_ms / 1000));
  return map;
}

Task<Response> propose_value(Core* core, Request* request, Value value) {
  const auto proposal =
      co_await core->propose(std::move(value), origin_of(*request), request->deadline);
  if (!proposal) co_return refuse(*request, proposal.error());
  Response response = document(*request, 202, proposal_value(*core, *proposal));
  response.add("Location", "/registry/proposals/" + std::string(proposal->what->id.text()));
  co_return response;
}

Task<Response> propose(Core* core, Request* request) {
  auto value = co_await read_document(request);
  if (!value) co_return refuse(*request, value.error());
  co_return co_await propose_value(core, request, std::move(*value));
}

// `{"version","reason","change"}`, and what a proposal may have besides.
Task<Response> supersede(Core* core, Request* request) {
  auto value = co_await read_document(request);
  if (!value) co_return refuse(*request, value.error());
  const auto fields =
      chain::Fields::of(*value, "a supersede", {"version", "reason", "change", "if_head"});
  if (!fields) co_return refuse(*request, fields.error());
  Value::Map change{{"kind", "supersede"}};
  for (const char* const key : {"version", "reason", "change"}) {
    if (const Value* const given = value->find(key)) change.emplace(key, *given);
  }
  Value::Map proposal{{"change", std::move(change)}};
  if (const Value* const given = value->find("if_head")) proposal.emplace("if_head", *given);
  co_return co_await propose_value(core, request, std::move(proposal));
}

Task<Response> list_proposals(Core* core, Request* request) {
  const chain::State state = core->views().state();
  const std::int64_t now = core->now_ms();
  Value::Array all;
  for (const auto& [id, proposal] : core->views().pending()) {
    if (proposal.what->expires_ms > now) {
      all.push_back(details_value(*core, state, proposal, now));
    }
  }
  co_return document(*request, 200, Value::Map{{"proposals", std::move(all)}});
}

Task<Response> get_proposal(Core* core, Request* request) {
  const auto proposal = core->views().proposal(request->params[0]);
  const std::int64_t now = core->now_ms();
  if (!proposal || proposal->what->expires_ms <= now) {
    co_return refuse(*request, {Code::NotFound, "no such proposal is pending"});
  }
  co_return document(*request, 200, details_value(*core, core->views().state(), *proposal, now));
}

Result<chain::Approval> parse_approval(const Value& value) {
  const auto fields = chain::Fields::of(value, "an approval", {"signer", "signature"});
  if (!fields) return fail(fields.error());
  chain::Approval approval;
  auto signer = fields->text("signer", chain::kSignerIdChars);
  if (!signer || !auth::is_lower_hex(*signer, chain::kSignerIdChars)) {
    return fail(Code::Malformed, "signer must be an id of 16 hex digits");
  }
  approval.signer = std::move(*signer);
  const Value* const given = value.find("signature");
  std::vector<std::byte> bytes;
  if (given != nullptr && given->bytes() != nullptr) bytes = *given->bytes();
  if (given != nullptr && given->text() != nullptr) {
    bytes = base::from_base64(*given->text()).value_or(std::vector<std::byte>());
  }
  if (bytes.size() != approval.signature.size()) {
    return fail(Code::Malformed,
                "signature must be the 64 bytes of an Ed25519 signature, in base64");
  }
  std::ranges::copy(bytes, approval.signature.begin());
  return approval;
}

Task<Response> approve(Core* core, Request* request) {
  const auto value = co_await read_document(request);
  if (!value) co_return refuse(*request, value.error());
  auto approval = parse_approval(*value);
  if (!approval) co_return refuse(*request, approval.error());
  const auto approved =
      co_await core->approve(std::string(request->params[0]), std::move(*approval),
                             origin_of(*request), request->deadline);
  if (!approved) co_return refuse(*request, approved.error());
  const chain::Tally& tally = approved->tally;
  Value::Map answer{
      {"approvals", approved->approvals}, {"threshold", tally.need}, {"ready", tally.is_quorum()}};
  add_both(answer, tally);
  co_return document(*request, 200, std::move(answer));
}

Task<Response> commit(Core* core, Request* request) {
  const auto done = co_await core->commit(std::string(request->params[0]), origin_of(*request),
                                          request->deadline);
  if (!done) co_return refuse(*request, done.error());
  const int status = done->is_new ? 201 : 200;
  if (wants_cbor(*request)) co_return document(*request, status, chain::to_value(done->head));
  // The usual answer, without a tree.
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("version").value(done->head.version);
  json.key("hash").value(done->head.hash.text()).end_object();
  body += '\n';
  co_return Response::json(status, std::move(body));
}

}  // namespace

void add_proposal_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .add(Method::Post, "/registry/proposals", Access::needs(Scope::kRegistryPropose), propose)
      .add(Method::Get, "/registry/proposals", Access::read(), list_proposals)
      .add(Method::Get, "/registry/proposals/{id}", Access::read(), get_proposal)
      .add(Method::Post, "/registry/approvals/{id}", Access::needs(Scope::kRegistryApprove),
           approve)
      .add(Method::Post, "/registry/commit/{id}", Access::needs(Scope::kRegistryCommit), commit)
      .add(Method::Post, "/registry/supersede", Access::needs(Scope::kRegistryPropose), supersede);
}

}  // namespace ron::registry
