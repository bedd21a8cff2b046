// Proposals and their journal under the names this service uses.
#pragma once

#include <memory>

#include "chain/proposal.h"

namespace ron::registry {

using chain::journal_approval;
using chain::journal_gone;
using chain::journal_proposal;
using chain::journal_withdrawn;
using chain::JournalReplay;
using chain::make_proposed;
using chain::Pending;
using chain::Proposal;
using chain::Proposed;
using chain::replay;
using chain::Withdrawn;
using ProposalPtr = std::shared_ptr<const Proposal>;

}  // namespace ron::registry
