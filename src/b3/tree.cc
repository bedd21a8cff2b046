#include "b3/tree.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <string>

#include "b3/kernels.h"

namespace ron::b3 {

namespace {

static_assert(kChunkBytes == BLAKE3_CHUNK_LEN && ChainingValue::kBytes == BLAKE3_OUT_LEN &&
              BLAKE3_BLOCK_LEN == 2 * ChainingValue::kBytes);

// Runs are hashed level by level in blocks of this many chunks: wide enough that nearly every call
// fills the SIMD lanes, small enough for the stack.
constexpr std::size_t kBlockChunks = 256;
constexpr std::size_t kBlockBytes = kBlockChunks * kChunkBytes;
constexpr int kGroupLevels = std::countr_zero(kGroupChunks);
static_assert(kBlockBytes % kGroupBytes == 0);

// A ChainingValue that is not cleared first: a block of them is all scratch.
struct Scratch {
  std::uint8_t bytes[ChainingValue::kBytes];
};
using Block = std::array<Scratch, kBlockChunks>;
static_assert(sizeof(Block) == kBlockChunks * BLAKE3_OUT_LEN, "kernels write rows of values");

const std::uint8_t* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const std::uint8_t*>(bytes);
}
std::uint8_t* raw(std::byte* bytes) noexcept { return reinterpret_cast<std::uint8_t*>(bytes); }

ChainingValue to_value(const Scratch& scratch) noexcept {
  return std::bit_cast<ChainingValue>(scratch);
}

constexpr std::size_t chunk_count(std::size_t bytes) noexcept {
  return static_cast<std::size_t>(unit_count(bytes, kChunkBytes));
}

// The object's last chunk, when it is not full. The SIMD kernels take whole chunks only.
void short_chunk(base::ByteView bytes, std::uint64_t chunk, Scratch& out) noexcept {
  std::uint32_t words[8];
  std::memcpy(words, IV, sizeof words);
  std::uint8_t flags = CHUNK_START;
  while (bytes.size() > BLAKE3_BLOCK_LEN) {
    blake3_compress_in_place(words, raw(bytes.data()), BLAKE3_BLOCK_LEN, chunk, flags);
    bytes = bytes.subspan(BLAKE3_BLOCK_LEN);
    flags = 0;
  }
  std::uint8_t last[BLAKE3_BLOCK_LEN] = {};
  if (!bytes.empty()) std::memcpy(last, bytes.data(), bytes.size());
  blake3_compress_in_place(words, last, static_cast<std::uint8_t>(bytes.size()), chunk,
                           static_cast<std::uint8_t>(flags | CHUNK_END));
  store_cv_words(out.bytes, words);
}

// Leaves: the value of each chunk of a run of at most one block. Returns how many.
std::size_t chunk_values(base::ByteView bytes, std::uint64_t first_chunk, Block& out) noexcept {
  const std::size_t whole = bytes.size() / kChunkBytes;
  for (std::size_t done = 0; done < whole;) {
    const std::uint8_t* inputs[MAX_SIMD_DEGREE];
    const std::size_t batch = std::min<std::size_t>(MAX_SIMD_DEGREE, whole - done);
    for (std::size_t i = 0; i < batch; ++i) {
      inputs[i] = raw(bytes.data() + (done + i) * kChunkBytes);
    }
    blake3_hash_many(inputs, batch, kChunkBytes / BLAKE3_BLOCK_LEN, IV, first_chunk + done, true, 0,
                     CHUNK_START, CHUNK_END, out[done].bytes);
    done += batch;
  }
  const std::size_t count = chunk_count(bytes.size());
  if (count > whole) {
    short_chunk(bytes.subspan(whole * kChunkBytes), first_chunk + whole, out[whole]);
  }
  return count;
}

// One level up: replaces neighbours by their parent; an odd last value moves up as it is, which is
// what the left-is-a-power-of-two rule amounts to. Works in place: the parents of a batch land at
// or below the batch's own input, and a kernel has read a block before it writes its result.
std::size_t pair_up(Block& values, std::size_t count) noexcept {
  const std::size_t pairs = count / 2;
  for (std::size_t done = 0; done < pairs;) {
    const std::uint8_t* inputs[MAX_SIMD_DEGREE];
    const std::size_t batch = std::min<std::size_t>(MAX_SIMD_DEGREE, pairs - done);
    for (std::size_t i = 0; i < batch; ++i) inputs[i] = values[2 * (done + i)].bytes;
    blake3_hash_many(inputs, batch, 1, IV, 0, false, PARENT, 0, 0, values[done].bytes);
    done += batch;
  }
  if (count % 2 != 0) values[pairs] = values[count - 1];
  return pairs + count % 2;
}

void compress_pair(const ChainingValue& left, const ChainingValue& right, std::uint8_t flags,
                   std::byte* out) noexcept {
  std::uint8_t block[BLAKE3_BLOCK_LEN];
  std::memcpy(block, left.bytes.data(), ChainingValue::kBytes);
  std::memcpy(block + ChainingValue::kBytes, right.bytes.data(), ChainingValue::kBytes);
  std::uint32_t words[8];
  std::memcpy(words, IV, sizeof words);
  blake3_compress_in_place(words, block, BLAKE3_BLOCK_LEN, 0, flags);
  store_cv_words(raw(out), words);
}

ChainingValue block_value(base::ByteView bytes, std::uint64_t first_chunk) noexcept {
  Block values;
  std::size_t count = chunk_values(bytes, first_chunk, values);
  while (count > 1) count = pair_up(values, count);
  return to_value(values[0]);
}

// Cut into blocks from the left; recursion is as deep as the tree.
ChainingValue run_value(base::ByteView bytes, std::uint64_t first_chunk) noexcept {
  if (bytes.size() <= kBlockBytes) return block_value(bytes, first_chunk);
  const std::size_t left_chunks = left_units(chunk_count(bytes.size()));
  const std::size_t left_bytes = left_chunks * kChunkBytes;
  const ChainingValue left = run_value(bytes.first(left_bytes), first_chunk);
  return parent_of(left, run_value(bytes.subspan(left_bytes), first_chunk + left_chunks));
}

base::Result<std::uint64_t> composable_units(std::uint64_t total_bytes, std::uint64_t unit_bytes) {
  if (!std::has_single_bit(unit_bytes) || unit_bytes < kChunkBytes) {
    return base::fail(base::Code::Internal,
                      "a unit of composition is a power of two of at least one chunk, not " +
                          std::to_string(unit_bytes) + " bytes");
  }
  if (total_bytes <= unit_bytes) {
    return base::fail(base::Code::Internal,
                      "an object of one unit is hashed directly, not composed");
  }
  return unit_count(total_bytes, unit_bytes);
}

std::unexpected<base::Error> wrong_count(std::uint64_t given, std::uint64_t expected) {
  return base::fail(base::Code::Internal, "composition of " + std::to_string(expected) +
                                              " units was given " + std::to_string(given));
}

}  // namespace

ChainingValue subtree(base::ByteView bytes, std::uint64_t first_chunk) noexcept {
  const std::uint64_t chunks = chunk_count(bytes.size());
  assert(first_chunk % std::bit_ceil(chunks) == 0 && first_chunk <= kMaxChunks - chunks);
  return run_value(bytes, first_chunk);
}

void group_values(base::ByteView bytes, std::uint64_t first_group,
                  std::span<ChainingValue> out) noexcept {
  assert(out.size() == group_count(bytes.size()) && first_group <= kMaxGroups - out.size());
  Block values;
  std::uint64_t chunk = first_group * kGroupChunks;
  while (!out.empty()) {
    const base::ByteView run = bytes.first(std::min(bytes.size(), kBlockBytes));
    std::size_t count = chunk_values(run, chunk, values);
    for (int level = 0; level < kGroupLevels; ++level) count = pair_up(values, count);
    std::transform(values.begin(), values.begin() + count, out.begin(), to_value);
    out = out.subspan(count);
    bytes = bytes.subspan(run.size());
    chunk += kBlockChunks;
  }
}

ChainingValue parent_of(const ChainingValue& left, const ChainingValue& right) noexcept {
  ChainingValue value;
  compress_pair(left, right, PARENT, value.bytes.data());
  return value;
}

base::ObjectId root_of_pair(const ChainingValue& left, const ChainingValue& right) noexcept {
  std::array<std::byte, base::ObjectId::kBytes> digest;
  compress_pair(left, right, PARENT | ROOT, digest.data());
  return base::ObjectId(digest);
}

ChainingValue combine(std::span<const ChainingValue> units) noexcept {
  assert(!units.empty());
  if (units.size() == 1) return units[0];
  const std::size_t left = left_units(units.size());
  return parent_of(combine(units.first(left)), combine(units.subspan(left)));
}

base::Result<base::ObjectId> root_of(std::uint64_t total_bytes, std::uint64_t unit_bytes,
                                     std::span<const ChainingValue> units) {
  const auto expected = composable_units(total_bytes, unit_bytes);
  if (!expected) return base::fail(expected.error());
  if (units.size() != *expected) return wrong_count(units.size(), *expected);
  const std::size_t left = left_units(units.size());
  return root_of_pair(combine(units.first(left)), combine(units.subspan(left)));
}

base::Result<RootComposer> RootComposer::create(std::uint64_t total_bytes,
                                                std::uint64_t unit_bytes) {
  const auto expected = composable_units(total_bytes, unit_bytes);
  if (!expected) return base::fail(expected.error());
  return RootComposer(*expected);
}

base::Result<void> RootComposer::append(const ChainingValue& unit) {
  if (appended_ == expected_) return wrong_count(appended_ + 1, expected_);
  while (depth_ > static_cast<std::size_t>(std::popcount(appended_))) {
    --depth_;
    stack_[depth_ - 1] = parent_of(stack_[depth_ - 1], stack_[depth_]);
  }
  stack_[depth_++] = unit;
  ++appended_;
  return {};
}

base::Result<base::ObjectId> RootComposer::finish() const {
  if (appended_ != expected_) return wrong_count(appended_, expected_);
  ChainingValue right = stack_[depth_ - 1];
  for (std::size_t i = depth_ - 2; i > 0; --i) right = parent_of(stack_[i], right);
  return root_of_pair(stack_[0], right);
}

}  // namespace ron::b3
