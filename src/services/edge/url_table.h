// UrlTable: what is known of URLs. Each has a few variants; all of them together are bounded in
// number, in bytes on disk and in memory, and leave in a scan-resistant order (kit/fifo_order.h).
//
// What it lets go it hands to the caller, each exactly once: somebody has to remove it on disk.
//
// Any thread. A look-up takes one shard's lock for a probe. Changes come one at a time: the order
// has a lock of its own, under which they take the shards'.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "runtime/lock.h"
#include "runtime/meter.h"
#include "services/edge/asset.h"
#include "services/kit/fifo_order.h"

namespace ron::edge {

class UrlTable {
 public:
  // Of one URL; a further one takes the place of the oldest, that of a 404 first. A further 404
  // takes no other place.
  static constexpr std::size_t kMaxVariants = 8;
  // What an asset takes on disk besides its bytes.
  static constexpr std::uint64_t kRecordBytes = 512;
  // What assets take in memory besides their bytes: so much for each that there may be, all
  // together. Long URLs and many header lines leave room for fewer.
  static constexpr std::uint64_t kEntryBytes = 2 * base::kKiB;

  struct Bounds {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
  };
  // `evicted` counts what had to make room for others.
  explicit UrlTable(Bounds bounds, runtime::Counter* evicted = nullptr);
  UrlTable(const UrlTable&) = delete;
  UrlTable& operator=(const UrlTable&) = delete;
  ~UrlTable();

  struct Found {
    AssetPtr asset;   // null: nothing fits
    VaryMask vary{};  // what the variants of the URL depend on, as far as is known
  };
  // The newest that fits; counts as a use of it.
  [[nodiscard]] Found find(std::string_view url, const Preferences& asked) const;
  // This very one is still known.
  [[nodiscard]] bool has(const Asset& asset) const;

  using LetGo = std::vector<AssetPtr>;
  // In place of the variant that was there, and of whatever has to leave for it. An asset that is
  // larger than everything may be, or has no place among the variants, is let go at once. One whose
  // bytes are held under the same name by its successor is not let go.
  [[nodiscard]] LetGo put(AssetPtr asset);
  // The same if nothing was purged since purges() was read. Nothing: it was, and the table is as it
  // was, too.
  [[nodiscard]] std::optional<LetGo> put_unless_purged(AssetPtr asset, std::uint64_t purges);
  // This very one. False: it was not known any more.
  bool erase(const Asset& asset);
  // All that are one of those, and whatever is being filled: what was asked for before this is not
  // put after it.
  [[nodiscard]] LetGo purge(const std::function<bool(const Asset&)>& is_one);
  // How often that was.
  [[nodiscard]] std::uint64_t purges() const noexcept { return purges_.load(); }
  // Takes effect with the next put.
  void set_bounds(Bounds bounds);
  // What the bounds have no room for.
  [[nodiscard]] LetGo trim();

  [[nodiscard]] Bounds bounds() const;
  [[nodiscard]] std::uint64_t entries() const noexcept { return entries_.load(kRelaxed); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(kRelaxed); }
  // What they take in memory, about.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return memory_bytes_.load(kRelaxed); }
  // Since when the oldest of a part is there; 0: there is none. Looks at all of it: whoever asks
  // for every part gives way in between.
  static constexpr std::size_t kParts = 16;
  [[nodiscard]] std::int64_t oldest_ms(std::size_t part) const;

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr std::size_t kShards = kParts;
  static constexpr std::size_t kRememberedAtLeast = 16;

  struct Node : kit::FifoLink<Node> {
    AssetPtr asset;
    std::uint64_t memory_bytes = 0;
    std::atomic<std::uint8_t> hits = 0;
  };
  // What is left of an asset that nobody asked for again.
  struct Trace : kit::FifoLink<Trace> {
    std::uint64_t fingerprint = 0;
  };
  using Variants = std::vector<std::unique_ptr<Node>>;  // the newest first
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct alignas(64) Shard {
    Shard();
    mutable runtime::Lock lock;
    // Guarded by lock; changed under order_lock_ only.
    std::unordered_map<std::string, Variants, TextHash, std::equal_to<>> urls;
  };

  [[nodiscard]] Shard& shard_of(std::string_view url) const noexcept;
  // All of these under order_lock_.
  LetGo put_locked(AssetPtr asset);
  // Into the shard, in place of the variant that comes back; stays with the caller if it has no
  // place.
  std::unique_ptr<Node> insert(std::unique_ptr<Node>& node);
  static Variants::iterator place_for(const Asset& asset, Variants& variants);
  std::unique_ptr<Node> take(const Node& node);
  void link(Node& node, bool is_proven);
  void unlink(Node& node);
  void remember(const Asset& asset);
  bool recall(const Asset& asset);
  [[nodiscard]] std::uint64_t most_memory() const noexcept { return bounds_.entries * kEntryBytes; }
  void make_room(LetGo& gone);
  void count();

  mutable std::array<Shard, kShards> shards_;
  mutable runtime::Lock order_lock_;
  runtime::Counter* evicted_;
  // Guarded by order_lock_.
  Bounds bounds_;
  kit::FifoOrder<Node> order_;
  std::unordered_map<std::uint64_t, Trace> traces_;
  kit::FifoQueue<Trace> remembered_;
  // Written under order_lock_.
  std::atomic<std::uint64_t> entries_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::uint64_t> memory_bytes_ = 0;
  std::atomic<std::uint64_t> purges_ = 0;
};

}  // namespace ron::edge
