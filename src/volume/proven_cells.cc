#include "volume/proven_cells.h"

#include <atomic>
#include <cstring>
#include <span>
#include <type_traits>

namespace ron::volume {
namespace {

constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15U;  // what is numbered in order lies far apart
constexpr std::uint64_t kRun = 64;  // cells that lie side by side, since they are read together
constexpr std::uint64_t kNameMask = 0xffffffff'00000000U;

std::array<std::byte, Polyval::kKeyBytes> secret(platform::Random& random) noexcept {
  std::array<std::byte, Polyval::kKeyBytes> key;
  random.fill(key);
  return key;
}

std::uint64_t word_of(const CellName& name, std::size_t index) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, name.hash.data() + index * sizeof word, sizeof word);
  return word;
}

// What an entry holds of a name, in its upper half; never zero.
std::uint64_t tag_of(const CellName& name) noexcept {
  return ((word_of(name, 1) + name.cell * kSpread) & kNameMask) | (std::uint64_t{1} << 32);
}

std::uint64_t load(std::uint64_t& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_relaxed);
}
void store(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

}  // namespace

ProvenCells::ProvenCells(platform::Random& random, std::size_t bytes)
    : fingerprint_(secret(random)),
      lines_(bytes / kLineBytes),
      // From calloc, so that memory nobody has used yet is not taken from the system.
      memory_(lines_ == 0 ? nullptr : std::calloc(lines_ + 1, kLineBytes)) {
  if (memory_ == nullptr) return;
  void* aligned = memory_.get();
  std::size_t room = (lines_ + 1) * kLineBytes;
  entries_ = static_cast<Entry*>(std::align(kLineBytes, lines_ * kLineBytes, aligned, room));
}

ProvenCells::Entry* ProvenCells::line_of(const CellName& name) const noexcept {
  const std::uint64_t run = word_of(name, 0) + name.cell / kRun * kSpread;
  // Scaled to the number of lines, which is any.
  const auto first =
      static_cast<std::uint64_t>((static_cast<unsigned __int128>(run) * lines_) >> 64);
  const std::uint64_t line = first + name.cell % kRun;
  return entries_ + (line < lines_ ? line : line % lines_) * kWays;
}

// The fingerprint is of the name too: an entry says which bytes, of what.
ProvenCells::Entry ProvenCells::entry_for(const CellName& name,
                                          base::ByteView bytes) const noexcept {
  struct Head {
    CellName name;
    std::uint64_t bytes;
    std::uint64_t zero;
  };
  static_assert(sizeof(Head) % Polyval::kBlockBytes == 0 &&
                std::has_unique_object_representations_v<Head>);
  const Head head{.name = name, .bytes = bytes.size(), .zero = 0};
  Polyval::Value value = fingerprint_.update({}, std::as_bytes(std::span(&head, 1)));
  value = fingerprint_.update(value, bytes);
  return {.name_and_high = tag_of(name) | (value.high & ~kNameMask), .low = value.low};
}

bool ProvenCells::knows(const CellName& name) const noexcept {
  if (entries_ == nullptr || name.length <= kForgottenBytes) return false;
  Entry* const line = line_of(name);
  const std::uint64_t tag = tag_of(name);
  for (std::size_t i = 0; i < kWays; ++i) {
    if ((load(line[i].name_and_high) & kNameMask) == tag) return true;
  }
  return false;
}

bool ProvenCells::proves(const CellName& name, base::ByteView bytes) const noexcept {
  if (entries_ == nullptr) return false;
  Entry* const line = line_of(name);
  const Entry wanted = entry_for(name, bytes);
  for (std::size_t i = 0; i < kWays; ++i) {
    if (load(line[i].name_and_high) == wanted.name_and_high && load(line[i].low) == wanted.low) {
      return true;
    }
  }
  return false;
}

void ProvenCells::add(const CellName& name, base::ByteView bytes) noexcept {
  if (entries_ == nullptr || name.length <= kForgottenBytes) return;
  Entry* const line = line_of(name);
  const std::uint64_t tag = tag_of(name);
  // The same name's, else a free one, else any.
  std::size_t way = (tag >> 40) % kWays;
  for (std::size_t i = 0; i < kWays; ++i) {
    const std::uint64_t held = load(line[i].name_and_high);
    if (held == 0) way = i;
    if ((held & kNameMask) == tag) {
      way = i;
      break;
    }
  }
  const Entry entry = entry_for(name, bytes);
  store(line[way].name_and_high, entry.name_and_high);
  store(line[way].low, entry.low);
}

}  // namespace ron::volume
