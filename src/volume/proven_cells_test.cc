#include "volume/proven_cells.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"
#include "volume/test_support.h"

namespace ron::volume {
namespace {

constexpr std::size_t kBytes = 1 << 20;

class Seeded final : public platform::Random {
 public:
  void fill(base::MutableBytes out) noexcept override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(random_.next());
  }

 private:
  platform::FastRandom random_{1};
};

class ProvenCellsTest : public testing::Test {
 protected:
  Seeded random_;
};

CellName some_name(std::uint64_t seed, std::uint64_t cell = 0) {
  return {.hash = b3::hash(sample_bytes(16, seed)).digest(), .length = 1'000'000, .cell = cell};
}

TEST_F(ProvenCellsTest, ProvesWhatWasAddedAndNothingElse) {
  ProvenCells proven(random_, kBytes);
  EXPECT_TRUE(rc::check("one bit, one byte, one name", [&] {
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    const auto size =
        *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, kCellBytes + 1));
    auto bytes = sample_bytes(size, seed);
    const CellName name = some_name(seed, *rc::gen::inRange<std::uint64_t>(0, 1'000));
    const CellName next = some_name(seed, name.cell + 1);
    const CellName other = some_name(seed + 1, name.cell);
    CellName shorter = name;
    --shorter.length;
    proven.add(name, bytes);
    RC_ASSERT(proven.knows(name));
    RC_ASSERT(proven.proves(name, bytes));
    RC_ASSERT(!proven.proves(next, bytes));
    RC_ASSERT(!proven.proves(other, bytes));
    RC_ASSERT(!proven.proves(shorter, bytes));
    bytes.push_back(std::byte{0});
    RC_ASSERT(!proven.proves(name, bytes));
    bytes.pop_back();
    if (size == 0) return;
    RC_ASSERT(!proven.proves(name, base::ByteView(bytes).first(size - 1)));
    const auto bit = *rc::gen::inRange<std::size_t>(0, 8 * size);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    RC_ASSERT(!proven.proves(name, bytes));
    RC_ASSERT(proven.knows(name));
  }));
}

// Full, it forgets the old and goes on.
TEST_F(ProvenCellsTest, TheNewTakesThePlaceOfTheOld) {
  constexpr std::uint64_t kEntries = 64;
  ProvenCells proven(random_, kEntries * 16);
  const auto bytes = sample_bytes(100, 1);
  std::uint64_t known = 0;
  for (std::uint64_t i = 0; i < 20 * kEntries; ++i) {
    proven.add(some_name(i), bytes);
    EXPECT_TRUE(proven.proves(some_name(i), bytes));
  }
  for (std::uint64_t i = 0; i < 20 * kEntries; ++i) {
    known += proven.proves(some_name(i), bytes) ? 1 : 0;
  }
  EXPECT_EQ(known, kEntries);
}

TEST_F(ProvenCellsTest, WhatIsShortIsNotRemembered) {
  ProvenCells proven(random_, kBytes);
  const auto bytes = sample_bytes(kForgottenBytes, 1);
  CellName name = some_name(1);
  name.length = bytes.size();
  proven.add(name, bytes);
  EXPECT_FALSE(proven.knows(name));
  EXPECT_FALSE(proven.proves(name, bytes));
  ++name.length;
  proven.add(name, bytes);
  EXPECT_TRUE(proven.knows(name));
}

TEST_F(ProvenCellsTest, WithoutMemoryItKnowsNothing) {
  ProvenCells proven(random_, 0);
  const auto bytes = sample_bytes(100, 1);
  proven.add(some_name(1), bytes);
  EXPECT_FALSE(proven.knows(some_name(1)));
  EXPECT_FALSE(proven.proves(some_name(1), bytes));
}

// Two threads write the same few entries: whatever is torn proves nothing.
TEST_F(ProvenCellsTest, ThreadsNeverMakeAFalseProof) {
  ProvenCells proven(random_, 64);
  std::vector<std::vector<std::byte>> contents;
  for (std::uint64_t i = 0; i < 8; ++i) contents.push_back(sample_bytes(64, i));
  std::atomic<std::uint64_t> found = 0;
  const auto churn = [&](std::size_t offset) {
    for (std::size_t i = 0; i < 20'000; ++i) {
      const std::size_t at = (i + offset) % contents.size();
      const CellName name = some_name(at);
      if (i % 3 == 0) proven.add(name, contents[at]);
      found += proven.proves(name, contents[at]) ? 1 : 0;
      ASSERT_FALSE(proven.proves(name, contents[(at + 1) % contents.size()]));
    }
  };
  std::thread other(churn, 1);
  churn(0);
  other.join();
  EXPECT_GT(found.load(), 0U);
}

}  // namespace
}  // namespace ron::volume
