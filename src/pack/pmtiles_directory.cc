#include "pack/pmtiles_directory.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pack/tile_id.h"

namespace ron::pack {
namespace {

using base::Code;
using base::Result;

std::unexpected<base::Error> malformed(std::string why) {
  return base::fail(Code::Malformed, std::move(why));
}

// Varints from the front. The first failure is kept, and what is returned after it means nothing.
class Varints {
 public:
  explicit Varints(base::ByteView bytes) noexcept : bytes_(bytes) {}

  std::uint64_t take() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) return refuse("it ends too early");
      const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    return refuse("a number has more than 64 bits");
  }
  std::uint32_t take_short() noexcept {
    const std::uint64_t value = take();
    if (value > std::numeric_limits<std::uint32_t>::max()) {
      return static_cast<std::uint32_t>(refuse("a length has more than 32 bits"));
    }
    return static_cast<std::uint32_t>(value);
  }

  [[nodiscard]] const char* failure() const noexcept { return why_; }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - at_; }

 private:
  std::uint64_t refuse(const char* why) noexcept {
    if (why_ == nullptr) why_ = why;
    at_ = bytes_.size();
    return 0;
  }

  base::ByteView bytes_;
  std::size_t at_ = 0;
  const char* why_ = nullptr;
};

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
  out.push_back(static_cast<char>(value));
}

constexpr std::uint64_t kLastId = first_tile_id(kMaxZoom + 1) - 1;

// The tiles of an entry are past those of the one before; nothing when that is so.
const char* check_order(std::span<const PmtilesEntry> entries) noexcept {
  std::uint64_t next = 0;
  for (const PmtilesEntry& entry : entries) {
    if (entry.tile_id < next) return "entries overlap or are not in order";
    const std::uint64_t covered = std::max<std::uint32_t>(entry.run_length, 1);
    if (entry.tile_id > kLastId || covered - 1 > kLastId - entry.tile_id) {
      return "an entry is past the last tile of zoom 31";
    }
    next = entry.tile_id + covered;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<PmtilesEntry>> parse_directory(base::ByteView bytes, std::uint64_t max_entries) {
  Varints in(bytes);
  const std::uint64_t count = in.take();
  if (in.failure() != nullptr) return malformed(in.failure());
  if (count == 0) return malformed("it has no entries");
  // Each takes four numbers of at least a byte.
  if (count > in.left() / 4) return malformed("it has fewer entries than it says");
  if (count > max_entries) {
    return malformed("it has " + std::to_string(count) + " entries, and of the limit " +
                     std::to_string(max_entries) + " are left");
  }
  std::vector<PmtilesEntry> entries(static_cast<std::size_t>(count));
  std::uint64_t id = 0;
  for (PmtilesEntry& entry : entries) {
    const std::uint64_t delta = in.take();
    if (delta > std::numeric_limits<std::uint64_t>::max() - id) {
      return malformed("an entry is past the last tile of zoom 31");
    }
    entry.tile_id = id += delta;
  }
  for (PmtilesEntry& entry : entries) entry.run_length = in.take_short();
  for (PmtilesEntry& entry : entries) entry.length = in.take_short();
  std::uint64_t behind = 0;  // where the entry before ends; 0: there is none
  for (PmtilesEntry& entry : entries) {
    const std::uint64_t value = in.take();
    if (in.failure() != nullptr) break;
    if (value == 0 && &entry == entries.data()) {
      return malformed("the first offset continues an entry that is not there");
    }
    entry.offset = value == 0 ? behind : value - 1;
    if (entry.offset > std::numeric_limits<std::uint64_t>::max() - entry.length) {
      return malformed("an offset has more than 64 bits");
    }
    behind = entry.offset + entry.length;
  }
  if (in.failure() != nullptr) return malformed(in.failure());
  if (in.left() != 0) return malformed("something follows its last entry");
  if (const char* why = check_order(entries)) return malformed(why);
  if (std::ranges::any_of(entries, [](const PmtilesEntry& entry) { return entry.length == 0; })) {
    return malformed("an entry has no bytes");
  }
  return entries;
}

std::string encode_directory(std::span<const PmtilesEntry> entries) {
  std::string out;
  put_varint(out, entries.size());
  std::uint64_t id = 0;
  for (const PmtilesEntry& entry : entries) {
    put_varint(out, entry.tile_id - id);
    id = entry.tile_id;
  }
  for (const PmtilesEntry& entry : entries) put_varint(out, entry.run_length);
  for (const PmtilesEntry& entry : entries) put_varint(out, entry.length);
  const PmtilesEntry* before = nullptr;
  for (const PmtilesEntry& entry : entries) {
    const bool continues = before != nullptr && entry.offset == before->offset + before->length;
    put_varint(out, continues ? 0 : entry.offset + 1);
    before = &entry;
  }
  return out;
}

}  // namespace ron::pack
