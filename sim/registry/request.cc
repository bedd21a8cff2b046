#include "sim/registry/request.h"

#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/encoding.h"
#include "chain/signers.h"
#include "sim/harness/tokens.h"

namespace ron::sim {
namespace {

constexpr std::array<std::string_view, 19> kNames = {
    "propose", "propose-wrong", "approve",        "approve-forged", "approve-unknown",
    "commit",  "withdraw",      "head",           "head-if-new",    "version",
    "log",     "state",         "list-proposals", "show",           "checkpoints",
    "health",  "ready",         "missing",        "garbage"};

bool changes(Ask ask) { return ask <= Ask::Withdraw; }
bool is_post(Ask ask) { return ask <= Ask::Commit; }

// Now and then so many descriptors that a segment is soon full.
std::string descriptors(Dice& dice) {
  const std::uint64_t count = dice.chance(15) ? dice.between(60, 120) : dice.between(1, 3);
  const std::uint64_t first = dice.below(8);
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i != 0) text += ",";
    text += R"({"type":"region","id":"r)" + std::to_string(first + i) + R"(","title":")" +
            std::string(dice.between(1, 100), static_cast<char>('a' + dice.below(26))) + "\"}";
  }
  return text;
}

}  // namespace

std::string_view name(Ask ask) noexcept { return kNames[static_cast<std::size_t>(ask)]; }

std::optional<std::size_t> RegistryRequestMaker::signer_named(std::string_view id) const {
  for (std::size_t i = 0; i < plan_.signers.size(); ++i) {
    if (chain::signer_id(plan_.signers[i].public_key()) == id) return i;
  }
  return std::nullopt;
}

// Any of all keys, or all signers but one.
std::string RegistryRequestMaker::other_signers(Dice& dice) const {
  if (dice.chance(30)) {
    const auth::SigningKey& key = plan_.signers[dice.below(RegistryPlan::kKeys)];
    return R"({"change":{"kind":"revoke","signers":[")" + chain::signer_id(key.public_key()) +
           R"("],"reason":"lost"}})";
  }
  const std::size_t threshold =
      dice.between(RegistryPlan::kThreshold, RegistryPlan::kThreshold + 1);
  const std::size_t count = dice.between(threshold + 1, threshold + 3);
  std::vector<std::size_t> keys(RegistryPlan::kKeys);
  std::iota(keys.begin(), keys.end(), 0U);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(keys[i], keys[i + dice.below(keys.size() - i)]);
    const std::string key = base::to_base64(plan_.signers[keys[i]].public_key().bytes);
    text += (i == 0 ? R"({"name":"s)" : R"(,{"name":"s)") + std::to_string(keys[i]) +
            R"(","public_key":")" + key + "\"}";
  }
  return R"({"change":{"kind":"signers","threshold":)" + std::to_string(threshold) +
         R"(,"signers":[)" + text + "]}}";
}

std::string RegistryRequestMaker::body_of(Dice& dice, const RegistryRequest& request) const {
  switch (request.ask) {
    case Ask::Propose:
      if (request.flow->changes_signers) return other_signers(dice);
      return R"({"change":{"kind":"update","set":[)" + descriptors(dice) + "]}}";
    case Ask::ProposeWrong:
      return dice.chance(50) ? R"({"change":{"kind":"update","set":[]}})"
                             : R"({"change":{"kind":"revoke","signers":["0000000000000000"],)"
                               R"("reason":"no"}})";
    case Ask::Approve:
    case Ask::ApproveForged:
    case Ask::ApproveUnknown: {
      const auth::SigningKey& key = plan_.signers[request.signer];
      const std::string text =
          request.ask == Ask::ApproveForged ? request.flow->text + "x" : request.flow->text;
      const auth::Signature signature = *key.sign(base::as_bytes(text));
      const std::string id = request.ask == Ask::ApproveUnknown
                                 ? "0123456789abcdef"
                                 : chain::signer_id(key.public_key());
      return R"({"signer":")" + id + R"(","signature":")" + base::to_base64(signature) + "\"}";
    }
    default:
      return {};
  }
}

std::string RegistryRequestMaker::target_of(Dice& dice, RegistryRequest& request,
                                            const Ledger& ledger) const {
  switch (request.ask) {
    case Ask::Propose:
    case Ask::ProposeWrong:
    case Ask::ListProposals:
      return "/registry/proposals";
    case Ask::Approve:
    case Ask::ApproveForged:
    case Ask::ApproveUnknown:
      return "/registry/approvals/" + request.flow->id;
    case Ask::Commit:
      return "/registry/commit/" + request.flow->id;
    case Ask::ShowProposal:
    case Ask::Withdraw:
      return "/registry/proposals/" + request.flow->id;
    case Ask::Version:
      request.version = dice.below(ledger.newest() + 1);
      return "/registry/" + std::to_string(request.version);
    case Ask::Log:
      return "/registry/log?limit=" + std::to_string(dice.between(1, 20));
    case Ask::State:
      return "/registry/state";
    case Ask::Checkpoints:
      return "/registry/checkpoints?limit=3";
    case Ask::Health:
      return "/healthz";
    case Ask::Ready:
      return "/readyz";
    case Ask::Missing:
      return "/nothing/here";
    default:
      return "/registry/head";
  }
}

RequestPtr RegistryRequestMaker::make(Dice& dice, Ask ask, std::shared_ptr<Flow> flow,
                                      std::size_t signer, const Ledger& ledger) const {
  auto request = std::make_unique<RegistryRequest>();
  request->ask = ask;
  request->flow = std::move(flow);
  request->signer = signer;
  request->corr_id = draw_corr_id(dice);
  request->what = name(ask);
  request->garbage = ask == Ask::Garbage;
  request->asks_ready = ask == Ask::Ready;
  request->heavy = ask < Ask::Health;
  request->public_read = request->heavy && !changes(ask);
  if (request->public_read) request->answer_bytes = plan_.largest_body;
  if (request->garbage) {
    request->head = "GET  /registry HTTP/1.1\r\n\r\n";
    return request;
  }
  const std::string_view method = is_post(ask) ? "POST " : changes(ask) ? "DELETE " : "GET ";
  request->head = std::string(method) + target_of(dice, *request, ledger) +
                  " HTTP/1.1\r\nHost: registry\r\nX-Corr-ID: " + request->corr_id + "\r\n";
  request->has_token = dice.chance(95);
  if (request->has_token) request->head += "Authorization: Bearer " + token_ + "\r\n";
  request->right = request->has_token || !request->heavy ? Right::Enough : Right::Nobody;
  if (ask == Ask::HeadIfNew && !ledger.hashes().empty()) {
    request->head += "If-None-Match: \"" + ledger.hashes().rbegin()->second + "\"\r\n";
  }
  if (is_post(ask)) {
    request->body = body_of(dice, *request);
    request->has_body = !request->body.empty();
    request->encoded_bytes = request->decoded_bytes = request->body.size();
    request->head += "Content-Type: application/json\r\nContent-Length: " +
                     std::to_string(request->body.size()) + "\r\n";
  }
  request->head += "\r\n";
  if (request->flow) request->what += " " + request->flow->id;
  return request;
}

RequestPtr RegistryRequestMaker::any_read(Dice& dice, const Ledger& ledger) const {
  using enum Ask;
  if (dice.chance(8)) {
    return make(dice, dice.pick({Health, Ready, Missing, Garbage, ProposeWrong}), nullptr, 0,
                ledger);
  }
  return make(dice,
              dice.pick({Head, Head, Head, Head, HeadIfNew, Version, Version, Log, State,
                         ListProposals, Checkpoints}),
              nullptr, 0, ledger);
}

}  // namespace ron::sim
