// Proposals and their journal under the names this service uses.
#pragma once

#include "chain/proposal.h"

namespace ron::registry {

using chain::journal_approval;
using chain::journal_gone;
using chain::journal_proposal;
using chain::make_proposed;
using chain::Pending;
using chain::Proposal;
using chain::Proposed;
using chain::replay;

}  // namespace ron::registry
