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
#include "services/registry/list_bounds.h"
#include "services/registry/rendered.h"
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
using kit::query_number;
using kit::query_text;
using kit::read_document;
using kit::refuse;
using kit::wants_cbor;
using platform::Task;

Origin origin_of(const Request& request) {
  return {request.corr_id, request.token, request.tenant};
}

std::string text_to_sign(const chain::State& state, const Proposed& what) {
  return chain::approval_text(state.log(), what.id.text(), what.payload_b3, what.expires_ms);
}

Value::Map proposal_value(const chain::State& state, const Proposed& what) {
  return {{"proposal", what.id.text()},
          {"payload_b3", what.payload_b3.text()},
          {"sign", text_to_sign(state, what)},
          {"expires_at", base::print_rfc3339(what.expires_ms / 1000)},
          {"threshold", state.governance().set.threshold}};
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

// As it stands in a list: with the approvals so far, without what has the size of the payload.
Value::Map summary_value(const chain::State& state, const Proposal& proposal, std::int64_t now_ms) {
  const Proposed& what = *proposal.what;
  const chain::Change& change = what.parsed.change;
  const bool fits = state.check(what.parsed).has_value();
  Value::Array approvals;
  for (const chain::Approval& approval : proposal.approvals) {
    approvals.emplace_back(Value::Map{{"signer", approval.signer},
                                      {"name", name_of(state, change, fits, approval.signer)}});
  }
  Value::Map map = proposal_value(state, what);
  const chain::Tally tally =
      fits ? state.tally(change, proposal.approvals, now_ms) : chain::Tally();
  map.emplace("kind", change.kind());
  map.emplace("payload_bytes", what.payload.size());
  map.emplace("approvals", std::move(approvals));
  add_both(map, tally);
  map.emplace("ready", fits && tally.is_quorum());
  map.emplace("fits_head", fits);
  map.emplace("proposed_at", base::print_rfc3339(what.at_ms / 1000));
  return map;
}

// All of it: with the payload, the signatures and what would change.
Value details_value(const chain::State& state, const Proposal& proposal, std::int64_t now_ms) {
  const Proposed& what = *proposal.what;
  Value::Map map = summary_value(state, proposal, now_ms);
  const bool fits = map.at("fits_head").boolean().value_or(false);
  Value::Array approvals;
  for (const chain::Approval& approval : proposal.approvals) {
    approvals.emplace_back(
        Value::Map{{"signer", approval.signer},
                   {"name", name_of(state, what.parsed.change, fits, approval.signer)},
                   {"signature", base::to_base64(approval.signature)}});
  }
  map.insert_or_assign("approvals", std::move(approvals));
  map.emplace("payload", base::decode_cbor(base::as_bytes(what.payload)).value_or(Value()));
  map.emplace("payload_cbor", Value(base::as_bytes(what.payload)));  // what payload_b3 is of
  map.emplace("difference", difference(state, what.parsed));
  return map;
}

Task<Response> propose_value(Core* core, Request* request, Value value) {
  const auto proposal =
      co_await core->propose(std::move(value), origin_of(*request), request->deadline);
  if (!proposal) co_return refuse(*request, proposal.error());
  const StatePtr state = core->views().state();
  Response response = document(*request, 202, proposal_value(*state, *proposal->what));
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

// One page: `next` is what `after` of the next one has to be.
Task<Response> list_proposals(Core* core, Request* request) {
  const auto limit = query_number(*request, "limit");
  if (!limit) co_return refuse(*request, limit.error());
  const auto after = query_text(*request, "after", base::Ulid::kTextLength);
  if (!after) co_return refuse(*request, after.error());
  if (!after->value_or("").empty() && !base::Ulid::parse(**after)) {
    co_return refuse(*request, {Code::Malformed, "after in the query must be a proposal's id"});
  }
  const std::uint64_t count = std::clamp<std::uint64_t>(limit->value_or(bounds::kProposals.usual),
                                                        1, bounds::kProposals.most);
  const std::int64_t now = core->now_ms();
  auto page = core->views().pending_after(after->value_or(""), count + 1, now);
  const bool has_more = page.size() > count;
  if (has_more) page.pop_back();
  std::size_t bytes = 0;
  for (const ProposalPtr& one : page) {
    bytes += base::kKiB + one->approvals.size() * sizeof(chain::Approval);
  }
  co_return co_await rendered(
      &core->blocking(), request, 200, bytes,
      [state = core->views().state(), page = std::move(page), has_more, now] {
        Value::Array list;
        for (const ProposalPtr& one : page) list.emplace_back(summary_value(*state, *one, now));
        const Value next = has_more ? Value(page.back()->what->id.text()) : Value();
        return Value(Value::Map{{"proposals", std::move(list)}, {"next", next}});
      });
}

Task<Response> get_proposal(Core* core, Request* request) {
  ProposalPtr proposal = core->views().proposal(request->params[0]);
  const std::int64_t now = core->now_ms();
  if (!proposal || proposal->what->expires_ms <= now) {
    co_return refuse(*request, {Code::NotFound, "no such proposal is pending"});
  }
  StatePtr state = core->views().state();
  // What a change removes may be larger than the payload that says so, and a supersede undoes
  // whatever HEAD has replaced.
  const bool is_supersede = proposal->what->parsed.change.as<chain::Supersede>() != nullptr;
  constexpr std::size_t kGrowth = 16;
  const std::size_t bytes =
      is_supersede ? bounds::kDifferenceBytes : kGrowth * proposal->what->payload.size();
  co_return co_await rendered(&core->blocking(), request, 200, bytes,
                              [state = std::move(state), proposal = std::move(proposal), now] {
                                return details_value(*state, *proposal, now);
                              });
}

// As often as it is asked for.
Task<Response> withdraw(Core* core, Request* request) {
  const auto done = co_await core->withdraw(std::string(request->params[0]), request->grant_full,
                                            origin_of(*request), request->deadline);
  if (!done) co_return refuse(*request, done.error());
  co_return Response(204);
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
      .add(Method::Delete, "/registry/proposals/{id}",
           Access::needs(Scope::kRegistryPropose).or_fully(Scope::kRegistryGovern), withdraw)
      .add(Method::Post, "/registry/approvals/{id}", Access::needs(Scope::kRegistryApprove),
           approve)
      .add(Method::Post, "/registry/commit/{id}", Access::needs(Scope::kRegistryCommit), commit)
      .add(Method::Post, "/registry/supersede", Access::needs(Scope::kRegistryPropose), supersede);
}

}  // namespace ron::registry
