// Checkpoint: what a log says of itself at one version, as the text of a signed note (C2SP
// tlog-checkpoint, with three extension lines):
//
//   example.com/registry                 origin: which log
//   20852163                             size of the tree
//   CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=   its root
//   chain 20852162 b3:<hex>              the last version and its hash
//   pruned-below 20000000                versions below this may be gone
//   state b3:<hex>                       the state snapshot at that version
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "chain/note.h"
#include "chain/tlog_tree.h"

namespace ron::chain {

inline constexpr std::size_t kMaxOriginBytes = 255;
// Lines that a later version may add.
inline constexpr std::size_t kMaxFurtherLines = 16;
inline constexpr std::size_t kMaxFurtherLineBytes = 1024;
// The origin, two numbers and hashes in six lines; and the further ones.
inline constexpr std::size_t kMaxCheckpointBytes =
    kMaxOriginBytes + 512 + kMaxFurtherLines * (kMaxFurtherLineBytes + 1);
static_assert(kMaxCheckpointBytes <= kMaxNoteTextBytes);

struct Checkpoint {
  std::string origin;
  TreeHash root{};            // of the tree with version + 1 leaves
  std::uint64_t version = 0;  // the last one
  base::ObjectId hash;        // of that version
  std::uint64_t pruned_below = 0;
  base::ObjectId state;
  std::vector<std::string> further;  // lines nobody here understands

  [[nodiscard]] std::uint64_t size() const noexcept { return version + 1; }
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// The text to sign. Malformed if it would not be read again: an origin that is empty, too long or
// not text of one line, a last version below the first that is held, further lines beyond the
// bounds.
base::Result<std::string> print_checkpoint(const Checkpoint& checkpoint);
// Exactly what print_checkpoint makes; anything else is Malformed. Whether it is signed is
// open_note's business.
base::Result<Checkpoint> parse_checkpoint(std::string_view text);

}  // namespace ron::chain
