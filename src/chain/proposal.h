// Proposals that wait for approvals, and the journal that keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "base/ulid.h"
#include "chain/change.h"
#include "chain/entry.h"

namespace ron::chain {

// What was proposed. It never changes.
struct Proposed {
  base::Ulid id;
  std::string payload;  // deterministic CBOR
  Payload parsed;
  base::ObjectId payload_b3;
  std::int64_t at_ms = 0;
  std::int64_t expires_ms = 0;  // a whole second
  std::string proposer;         // fingerprint of the capability; empty: none was asked for
  std::string tenant{};         // whose capability it was; empty: one of no tenant
};

// And who approved it so far. Cheap to copy.
struct Proposal {
  std::shared_ptr<const Proposed> what;
  std::vector<Approval> approvals;  // by signer

  [[nodiscard]] bool is_approved_by(std::string_view signer) const noexcept;
  void add(Approval approval);
};

// By id, which is by age.
using Pending = std::map<std::string, Proposal, std::less<>>;

// Malformed unless it was encoded from a valid payload.
base::Result<Proposed> make_proposed(base::Ulid id, std::string payload, std::int64_t at_ms,
                                     std::int64_t expires_ms, std::string proposer,
                                     std::string tenant = {});

// A proposal that was taken back. It is remembered for a while, so that a second request for it is
// answered as the first was.
struct Withdrawn {
  std::string id;
  std::string tenant;  // the proposer's
  std::string by;      // fingerprint of the capability that took it back
};
// What a journal says, in order.
struct JournalReplay {
  Pending pending;
  std::vector<Withdrawn> withdrawn;
};

// What the journal says, one frame each. Replayed in order they give what is pending.
std::string journal_proposal(const Proposal& proposal);
std::string journal_approval(std::string_view id, const Approval& approval);
std::string journal_gone(std::string_view id);  // committed or expired
std::string journal_withdrawn(const Withdrawn& withdrawn);
// Applies a frame; IntegrityFail if it is none.
base::Result<void> replay(base::ByteView frame, JournalReplay& journal);

}  // namespace ron::chain
