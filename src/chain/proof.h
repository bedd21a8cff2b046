// Proof: one version with everything it takes to believe it, in a file of its own: the entry, its
// place in the tree of a signed checkpoint, and how those who approved it came to decide. Its
// format is docs/registry-format.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chain/checkpoint.h"
#include "chain/entry.h"
#include "chain/snapshot.h"
#include "chain/tlog_tree.h"

namespace ron::chain {

inline constexpr std::string_view kProofFormat = "ron-registry-proof/v1";
inline constexpr std::size_t kMaxProofBytes = 8 * base::kMiB;

// The name under which a log signs its checkpoints, and the first line of each.
std::string log_origin(const base::ObjectId& log);

struct Proof {
  std::uint64_t version = 0;
  std::string entry;
  std::vector<TreeHash> inclusion;
  std::string checkpoint;  // a signed note
  std::string vkey;        // what it is verified with, as the log says itself
  std::string summary;     // of the checkpoint's state

  friend bool operator==(const Proof&, const Proof&) = default;
};

std::string print(const Proof& proof);  // JSON
base::Result<Proof> parse_proof(std::string_view text);

// What a proof says, once it holds.
struct Proven {
  Entry entry;
  Head head;  // the version and its hash
  base::ObjectId log;
  Checkpoint checkpoint;
  std::vector<Signer> signers;  // who approved
};
// Those who approved the version, if what a checkpoint's summary says about signers makes that a
// quorum; its version is the summary's at most. The signatures of the summary's own entries are
// checked if `governance` says so, which takes as long again.
base::Result<std::vector<Signer>> check_quorum(const Summary& summary, const Entry& entry,
                                               const base::ObjectId& hash, Signatures governance);
// Checks all of it with `vkey`; an empty one: with the key in the proof, which then only says that
// it is sound in itself. Errors say what does not hold.
base::Result<Proven> verify_proof(const Proof& proof, std::string_view vkey);

}  // namespace ron::chain
