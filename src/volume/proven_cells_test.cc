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

base::ObjectId some_id(std::uint64_t seed) { return b3::hash(sample_bytes(16, seed)); }

TEST_F(ProvenCellsTest, ProvesWhatWasAddedAndNothingElse) {
  ProvenCells proven(random_, kBytes);
  EXPECT_TRUE(rc::check("one bit, one byte, one name", [&] {
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    const auto size =
        *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, kCellBytes + 1));
    auto bytes = sample_bytes(size, seed);
    const CellName name(some_id(seed), *rc::gen::inRange<std::uint64_t>(0, 1'000));
    const CellName next(some_id(seed), name.cell + 1);
    const CellName other(some_id(seed + 1), name.cell);
    proven.add(name, bytes);
    RC_ASSERT(proven.knows(name));
    RC_ASSERT(proven.proves(name, bytes));
    RC_ASSERT(!proven.proves(next, bytes));
    RC_ASSERT(!proven.proves(other, bytes));
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

TEST_F(ProvenCellsTest, APartIsNamedByItsValue) {
  ProvenCells proven(random_, kBytes);
  const auto bytes = sample_bytes(5'000, 1);
  const b3::ChainingValue part = b3::subtree(bytes, 1024);
  proven.add(CellName(part, 0), bytes);
  EXPECT_TRUE(proven.proves(CellName(part, 0), bytes));
  EXPECT_FALSE(proven.proves(CellName(b3::hash(bytes), 0), bytes));
}

// Full, it forgets the old and goes on.
TEST_F(ProvenCellsTest, TheNewTakesThePlaceOfTheOld) {
  constexpr std::uint64_t kEntries = 64;
  ProvenCells proven(random_, kEntries * 16);
  const auto bytes = sample_bytes(100, 1);
  std::uint64_t known = 0;
  for (std::uint64_t i = 0; i < 20 * kEntries; ++i) {
    proven.add(CellName(some_id(i), 0), bytes);
    EXPECT_TRUE(proven.proves(CellName(some_id(i), 0), bytes));
  }
  for (std::uint64_t i = 0; i < 20 * kEntries; ++i) {
    known += proven.proves(CellName(some_id(i), 0), bytes) ? 1 : 0;
  }
  EXPECT_EQ(known, kEntries);
}

TEST_F(ProvenCellsTest, WithoutMemoryItKnowsNothing) {
  ProvenCells proven(random_, 0);
  const auto bytes = sample_bytes(100, 1);
  proven.add(CellName(some_id(1), 0), bytes);
  EXPECT_FALSE(proven.knows(CellName(some_id(1), 0)));
  EXPECT_FALSE(proven.proves(CellName(some_id(1), 0), bytes));
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
      const CellName name(some_id(at), 0);
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
