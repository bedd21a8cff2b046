#include "base/buffer.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ron::base {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

bool page_aligned(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.data()) % Buffer::kPageBytes == 0;
}

TEST(Buffer, IsPageAlignedFromAPageOn) {
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{16383}, std::size_t{16384},
                                  std::size_t{65537}, std::size_t{9} << 20}) {
    const Buffer buffer(bytes);
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_TRUE(page_aligned(buffer));
  }
}

TEST(Buffer, ShrinksAndGrowsWithinItsCapacity) {
  Buffer buffer(100'000);
  buffer.resize(5);
  EXPECT_EQ(buffer.view().size(), 5);
  buffer.resize(200'000);
  EXPECT_EQ(buffer.size(), 100'000);
}

// Whatever is recycled, two buffers that live at the same time never share a byte.
TEST(Buffer, LiveBuffersNeverOverlap) {
  std::mt19937 dice(1);
  struct Live {
    Buffer buffer;
    int mark;
  };
  std::vector<Live> live;
  for (int i = 0; i < 5'000; ++i) {
    if (live.size() > 20 || (!live.empty() && dice() % 2 == 0)) {
      const std::size_t at = dice() % live.size();
      const ByteView bytes = live[at].buffer.view();
      ASSERT_EQ(bytes.front(), static_cast<std::byte>(live[at].mark));
      ASSERT_EQ(std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1), 0);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    Buffer buffer(1 + dice() % 200'000);
    std::memset(buffer.data(), i & 0xff, buffer.size());
    live.push_back({std::move(buffer), i & 0xff});
  }
}

// A body is taken where it arrives and given back where it was written.
TEST(Buffer, IsRecycledAcrossThreads) {
  constexpr std::size_t kCount = (Buffer::kKeptBytes + Buffer::kSharedBytes) / kBytes;
  std::vector<Buffer> buffers;
  std::set<const std::byte*> given;
  for (std::size_t i = 0; i < kCount; ++i) given.insert(buffers.emplace_back(kBytes).data());
  std::thread([those = std::move(buffers)]() mutable { those.clear(); }).join();
  constexpr std::size_t kAgain = Buffer::kSharedBytes / kBytes;
  std::size_t recycled = 0;
  for (std::size_t i = 0; i < kAgain; ++i) {
    recycled += given.count(buffers.emplace_back(kBytes).data());
  }
  EXPECT_GE(recycled, detail::kRecycling ? kAgain : 0);
}

// Whatever was kept of another size gives way.
TEST(Buffer, IsRecycledAfterWorkOfAnotherSize) {
  constexpr std::size_t kSmall = 128 << 10;
  constexpr std::size_t kCount = Buffer::kKeptBytes / kSmall;
  std::vector<Buffer> buffers;
  for (std::size_t at = 0; at < Buffer::kKeptBytes + Buffer::kSharedBytes; at += kBytes) {
    buffers.emplace_back(kBytes);
  }
  buffers.clear();
  std::set<const void*> given;
  for (std::size_t i = 0; i < kCount; ++i) given.insert(buffers.emplace_back(kSmall).data());
  buffers.clear();
  // What went back to the heap would come from there again: not if it was given away meanwhile.
  using Heap = std::unique_ptr<void, decltype(&std::free)>;
  std::vector<Heap> elsewhere;
  for (std::size_t i = 0; i < 2 * kCount; ++i) {
    elsewhere.emplace_back(std::aligned_alloc(Buffer::kPageBytes, kSmall), &std::free);
  }
  std::size_t recycled = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    recycled += given.count(buffers.emplace_back(kSmall).data());
  }
  EXPECT_GE(recycled, detail::kRecycling ? kCount : 0);
}

TEST(Buffer, LiveBuffersOfSeveralThreadsNeverOverlap) {
  const auto churn = [](std::byte mark) {
    for (int round = 0; round < 20; ++round) {
      std::vector<Buffer> live;
      for (int i = 0; i < 12; ++i) {
        Buffer& buffer = live.emplace_back(kBytes);
        std::memset(buffer.data(), static_cast<int>(mark), buffer.size());
      }
      for (const Buffer& buffer : live) {
        ASSERT_EQ(buffer.data()[0], mark);
        ASSERT_EQ(buffer.data()[kBytes - 1], mark);
      }
    }
  };
  std::thread other(churn, std::byte{1});
  churn(std::byte{2});
  other.join();
}

}  // namespace
}  // namespace ron::base
