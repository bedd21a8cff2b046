// The files of a log's checkpoints: `<version, 20 digits>.note`, the signed note, and
// `<version>.state`, the state snapshot it speaks of. Names and contents; who writes and removes
// them is the owner's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "auth/ed25519.h"
#include "base/result.h"
#include "base/units.h"
#include "chain/checkpoint.h"
#include "chain/snapshot.h"
#include "chain/state.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::chain {

inline constexpr std::string_view kNoteSuffix = ".note";
inline constexpr std::string_view kStateSuffix = ".state";
inline constexpr std::size_t kMaxSnapshotBytes = 512 * base::kMiB;
// Whatever a server lets a state become, its snapshot can be read back: all descriptors and what
// HEAD replaced, the entries about signers with the last one and the revocations that still fit
// after it, and the heads of all those values.
static_assert(kMaxDescriptorsBytes + kMaxReplaced * (kMaxDescriptorBytes + 256) +
                  kMaxGovernanceBytes + kMaxEntryBytes + kMaxSigners * 64 * base::kKiB +
                  base::kMiB <=
              kMaxSnapshotBytes);

std::string checkpoint_file(std::uint64_t version, std::string_view suffix);
// Exactly what checkpoint_file makes.
std::optional<std::uint64_t> parse_checkpoint_file(std::string_view name, std::string_view suffix);

// The checkpoint, if the key signed it. Which log may sign with this key under which name is not
// known here: the origin has to be compared with the log's. Malformed, InvalidSig.
base::Result<Checkpoint> open_checkpoint(std::string_view note, const auth::PublicKey& key);

// The state of the snapshot, if it is the one the checkpoint speaks of: IntegrityFail otherwise.
base::Result<State> open_snapshot(const Snapshot& snapshot, const Checkpoint& checkpoint,
                                  Signatures signatures);

// All of a file of at most `most` bytes; IntegrityFail if it is larger. Cancel-safe.
platform::Task<base::Result<std::string>> read_whole_file(platform::Disk* disk, std::string path,
                                                          std::size_t most);

// The summary of the snapshot in the file, without reading the rest. Cancel-safe.
platform::Task<base::Result<std::string>> read_summary(platform::Disk* disk, std::string path);

}  // namespace ron::chain
