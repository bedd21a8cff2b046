// A tile on its way from a pack into memory, and what a URL says of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "http/decode_guard.h"
#include "pack/pack.h"
#include "platform/send_memory.h"
#include "platform/task.h"
#include "services/edge/memory_tier.h"
#include "services/edge/mount.h"

namespace ron::edge {

// What follows the pack in a URL: `{z}/{x}/{y}[.ext]`. A plain value.
struct TilePath {
  pack::Zxy at;
  std::string_view extension;  // without its dot; empty: none
};
// Malformed unless they are numbers without leading zeros, z is at most 30 and x and y are below
// 2^z.
base::Result<TilePath> parse_tile_path(std::string_view z, std::string_view x, std::string_view y);

// A tile of that type may be asked for with this extension.
bool fits(pack::TileType type, std::string_view extension) noexcept;

// As it is stored, or decoded for who does not accept that.
enum class TileForm : std::uint8_t { Stored = 0, Decoded = 1 };

// Where the memory tier has it.
MemoryKey tile_key(const Mount& mount, pack::Zxy at, TileForm form) noexcept;

struct TileOrder {
  MountPtr mount;
  pack::Zxy at;
  TileForm form = TileForm::Stored;
  http::DecodeLimits limits;
  platform::SendArena* arena = nullptr;
};
// Ready to be sent, with the hash of its bytes as its tag; the mount's `no_tile` if there is none.
// DecodedCap and DecodedRatio say how much it came to. IntegrityFail, StorageBusy, Timeout.
// Cancel-safe.
platform::Task<base::Result<kit::RepresentationPtr>> load_tile(TileOrder order);

}  // namespace ron::edge
