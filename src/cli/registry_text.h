// What the registry says, for people. Pure functions from documents to text.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/value.h"
#include "chain/entry.h"

namespace ron::cli {

// By signer id.
using SignerNames = std::map<std::string, std::string, std::less<>>;

// Adds the names that a change gives to signers: of a genesis, of other signers, of what
// supersedes.
void learn_names(const chain::Change& change, SignerNames& names);
// The same of an entry's bytes; others than entries are ignored.
void learn_names(base::ByteView entry, SignerNames& names);

// What a payload changes, a line each; exactly what its signers sign.
std::string change_text(const chain::Payload& payload);
// `difference` of a proposal: what HEAD has and what it would have.
std::string difference_text(const base::Value& difference);
// A pending proposal, as `GET /registry/proposals/{id}` has it; one line, or all of it.
std::string proposal_line(const base::Value& proposal);
std::string proposal_text(const base::Value& proposal);
// How many have approved, and how many it takes, in a proposal or in the answer to an approval.
// Where signers change, enough of the old and enough of the new have to agree.
std::string tally_text(const base::Value& document);
// How many have to approve a proposal.
std::string wanted_text(const base::Value& proposal);

// One version: when, what, and who approved it.
std::string entry_text(const chain::Entry& entry, const base::ObjectId& hash,
                       const SignerNames& names);
// `GET /registry/state`.
std::string state_text(const base::Value& state);

// What stands at the key, as text: itself if it is one, JSON otherwise; empty if there is nothing.
std::string text_of(const base::Value& map, std::string_view key);

}  // namespace ron::cli
