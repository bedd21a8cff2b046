// RegistryRequest: one thing a client asks of svc-registry, as bytes and as what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "auth/keyring.h"
#include "sim/harness/request.h"
#include "sim/registry/ledger.h"
#include "sim/registry/plan.h"

namespace ron::sim {

enum class Ask : std::uint8_t {
  Propose,
  ProposeWrong,  // a change that no state allows
  Approve,
  ApproveForged,   // with a signature of something else
  ApproveUnknown,  // by nobody's key
  Commit,
  Withdraw,
  Head,
  HeadIfNew,  // If-None-Match
  Version,
  Log,
  State,
  ListProposals,
  ShowProposal,
  Checkpoints,
  Health,
  Ready,
  Missing,
  Garbage,
};
std::string_view name(Ask ask) noexcept;

struct RegistryRequest : Request {
  Ask ask = Ask::Head;
  std::shared_ptr<Flow> flow;  // of a request about a proposal
  std::size_t signer = 0;
  std::uint64_t version = 0;  // that it asks for
  bool has_token = true;

  [[nodiscard]] bool changes() const {
    return ask == Ask::Propose || ask == Ask::Approve || ask == Ask::Commit || ask == Ask::Withdraw;
  }
};

class RegistryRequestMaker {
 public:
  RegistryRequestMaker(const RegistryPlan& plan, const std::string& token)
      : plan_(plan), token_(token) {}

  [[nodiscard]] RequestPtr make(Dice& dice, Ask ask, std::shared_ptr<Flow> flow, std::size_t signer,
                                const Ledger& ledger) const;
  // Whose key has this id; none of ours: nothing.
  [[nodiscard]] std::optional<std::size_t> signer_named(std::string_view id) const;
  // Any read, and what is no request at all.
  [[nodiscard]] RequestPtr any_read(Dice& dice, const Ledger& ledger) const;

 private:
  [[nodiscard]] std::string other_signers(Dice& dice) const;
  [[nodiscard]] std::string body_of(Dice& dice, const RegistryRequest& request) const;
  [[nodiscard]] std::string target_of(Dice& dice, RegistryRequest& request,
                                      const Ledger& ledger) const;

  const RegistryPlan& plan_;
  const std::string& token_;
};

}  // namespace ron::sim
