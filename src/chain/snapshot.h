// Snapshot: the state at a checkpoint as bytes, from which a start goes on and a pruned log is
// verified. Its format is docs/registry-format.md.
//
// It has two parts. The summary is small: who may approve and how that came about, and the hash of
// the rest. Its own hash is in the signed checkpoint, and it is in every proof file, which thereby
// proves the quorum of a version without the log.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/object_id.h"
#include "base/result.h"
#include "chain/state.h"

namespace ron::chain {

struct Summary {
  Head head;
  base::ObjectId log;
  std::int64_t at_ms = 0;
  std::vector<std::string> governance_entries;
  base::ObjectId descriptors;  // the hash of that part

  friend bool operator==(const Summary&, const Summary&) = default;
};
std::string encode(const Summary& summary);
base::Result<Summary> decode_summary(base::ByteView bytes);

struct Snapshot {
  std::string summary;
  std::string descriptors;

  // What the checkpoint says of it.
  [[nodiscard]] base::ObjectId hash() const noexcept;
};
Snapshot take_snapshot(const State& state);

// A file of both parts.
std::string encode(const Snapshot& snapshot);
base::Result<Snapshot> decode_snapshot(base::ByteView bytes);

// IntegrityFail unless the parts belong together and make a state.
base::Result<State> restore(const Snapshot& snapshot, Signatures signatures);

}  // namespace ron::chain
