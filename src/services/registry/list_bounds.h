// How large the answers of the registry's lists may become. lists.h tells clients of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "chain/change.h"
#include "chain/entry.h"
#include "chain/signers.h"

namespace ron::registry::bounds {

// Of a list in pages: `limit` is `usual` unless it is given, and at most `most`.
struct Page {
  std::uint64_t usual = 0;
  std::uint64_t most = 0;
  std::size_t bytes = 0;  // of an answer at most, as JSON
};

// A proposal without payload and difference: names, texts and hashes, and a line for each signer.
inline constexpr std::size_t kSummaryBytes = base::kKiB + chain::kMaxSigners * 256;
inline constexpr Page kProposals{100, 500, 500 * kSummaryBytes};

// An answer ends with the version that takes it past kLogRead; each is in it as base64, and decoded
// once more.
inline constexpr std::size_t kLogRead = base::kMiB;
inline constexpr Page kLog{100, 1000, 8 * (kLogRead + chain::kMaxEntryBytes)};

// Notes of our own have one signature and no further lines.
inline constexpr std::size_t kNoteBytes = 2 * base::kKiB;
inline constexpr Page kCheckpoints{1000, 1000, 1000 * kNoteBytes};

// One proposal: its payload, decoded and as base64, and what it would change. Where the values of
// the difference are more than this, those of the rest are left out.
inline constexpr std::size_t kDifferenceBytes = 2 * base::kMiB;

// GET /registry/state?version= is one document with its length as long as the descriptors are no
// more than kStateWhole; beyond, it is streamed in pieces of about kStatePiece, made one at a time.
inline constexpr std::size_t kStateWhole = base::kMiB;
inline constexpr std::size_t kStatePiece = 64 * base::kKiB;
// States of the past that are made at the same time.
inline constexpr std::size_t kStatesAtOnce = 2;

// GET /registry/stream begins with at most so many versions from the log; beyond, with a gap.
inline constexpr std::uint64_t kStreamReplay = 1024;

// GET /registry/tlog/tile/entries/…: a bundle of 256 entries, each of at most 64 KiB.
inline constexpr std::size_t kBundleEntryBytes = 0xFFFF;
inline constexpr std::size_t kBundleBytes = 256 * (kBundleEntryBytes + 2);

// Work on more bytes than this is done in the blocking pool, not on a core.
inline constexpr std::size_t kInlineBytes = 64 * base::kKiB;

}  // namespace ron::registry::bounds
