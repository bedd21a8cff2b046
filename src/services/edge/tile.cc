#include "services/edge/tile.h"

#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "b3/hash.h"
#include "base/limits.h"
#include "pack/compression.h"
#include "platform/wait.h"
#include "runtime/deadline.h"
#include "runtime/waiting.h"
#include "services/kit/documents.h"

namespace ron::edge {
namespace {

using base::Buffer;
using base::ByteView;
using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::uint64_t kMaxZoom = 30;
// What a disk has for one tile. Nobody's own deadline counts: others may wait for it, too.
constexpr std::chrono::seconds kTileTimeout{10};

// A tile may be megabytes: the core's others have their turn in between.
void spend(std::size_t bytes) noexcept { platform::Executor::current()->spend(bytes); }

Task<base::ObjectId> hash_of(ByteView bytes) {
  b3::Hasher hasher;
  while (!bytes.empty()) {
    const ByteView piece = bytes.first(std::min(bytes.size(), base::limits::kGroupBytes));
    bytes = bytes.subspan(piece.size());
    hasher.update(piece);
    spend(piece.size());
    if (runtime::turn_is_over()) co_await platform::Yield();
  }
  co_return hasher.finish();
}

// A tile that does not decode is the pack's fault and not the client's.
base::Error as_ours(base::Error error) {
  const bool is_limit = error.code == Code::DecodedCap || error.code == Code::DecodedRatio;
  if (is_limit || error.code == Code::Busy) return error;
  return {Code::IntegrityFail, "the tile does not decode: " + error.message};
}

Task<Result<Buffer>> decode(Buffer stored, http::Coding coding, http::DecodeLimits limits) {
  http::DecodeGuard guard(coding, limits);
  std::string decoded;
  ByteView left = stored.view();
  for (;;) {
    const Result<ByteView> piece = guard.next(left);
    if (!piece) co_return fail(as_ours(piece.error()));
    if (piece->empty()) break;
    decoded += base::as_text(*piece);
    spend(piece->size());
    if (runtime::turn_is_over()) co_await platform::Yield();
  }
  const Result<> ended = guard.finish();
  if (!ended) co_return fail(as_ours(ended.error()));
  Buffer bytes(decoded.size());
  if (!decoded.empty()) std::memcpy(bytes.data(), decoded.data(), decoded.size());
  co_return bytes;
}

}  // namespace

Result<TilePath> parse_tile_path(std::string_view z, std::string_view x, std::string_view y) {
  TilePath path;
  const std::size_t dot = y.find('.');
  if (dot != std::string_view::npos) {
    path.extension = y.substr(dot + 1);
    y = y.substr(0, dot);
  }
  const auto zoom = kit::parse_number(z);
  const auto column = kit::parse_number(x);
  const auto row = kit::parse_number(y);
  const bool is_place = zoom && column && row && *zoom <= kMaxZoom && *column < (1ULL << *zoom) &&
                        *row < (1ULL << *zoom);
  const bool is_named = dot == std::string_view::npos || !path.extension.empty();
  if (!is_place || !is_named) {
    return fail(Code::Malformed,
                "a tile is {z}/{x}/{y}[.ext]: z of at most 30, x and y below 2^z, without leading "
                "zeros");
  }
  path.at = {.z = static_cast<std::uint8_t>(*zoom),
             .x = static_cast<std::uint32_t>(*column),
             .y = static_cast<std::uint32_t>(*row)};
  return path;
}

bool fits(pack::TileType type, std::string_view extension) noexcept {
  if (extension.empty() || extension == pack::extension(type)) return true;
  if (type == pack::TileType::Mvt) return extension == "pbf";
  return type == pack::TileType::Jpeg && extension == "jpeg";
}

// All tiles of lower zooms come first, as in PMTiles; within a zoom row by row.
MemoryKey tile_key(const Mount& mount, pack::Zxy at, TileForm form) noexcept {
  const std::uint64_t before = ((1ULL << (2 * at.z)) - 1) / 3;
  const std::uint64_t within = (std::uint64_t{at.y} << at.z) + at.x;
  return {mount.generation, before + within, static_cast<std::uint64_t>(form)};
}

Task<Result<kit::RepresentationPtr>> load_tile(TileOrder order) {
  const Mount& mount = *order.mount;
  auto found = co_await mount.pack->tile(order.at, runtime::Deadline::in(kTileTimeout));
  if (!found) co_return fail(mount.public_error(std::move(found.error())));
  if (!*found) co_return mount.no_tile;
  Buffer bytes = std::move((*found)->bytes);
  const http::Coding coding = coding_of((*found)->compression);
  // A tile that is not stored like the others is sent decoded: who asks for stored ones has said
  // only that it accepts what they have.
  const bool is_encoded = order.form == TileForm::Stored && coding == mount.coding;
  if (!is_encoded && coding != http::Coding::Identity) {
    auto decoded = co_await decode(std::move(bytes), coding, order.limits);
    if (!decoded) co_return fail(std::move(decoded.error()));
    bytes = std::move(*decoded);
  }
  const base::ObjectId hash = co_await hash_of(bytes.view());
  std::string tag = hash.text();
  std::string lines = "ETag: \"" + tag + "\"\r\n" + mount.tile_lines(is_encoded);
  co_return std::make_shared<const kit::Representation>(std::move(tag), std::move(lines),
                                                        std::move(bytes), *order.arena);
}

}  // namespace ron::edge
