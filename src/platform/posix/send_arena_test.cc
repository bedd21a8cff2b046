#include "platform/posix/send_arena.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ron::platform::posix {
namespace {

constexpr std::size_t kBlock = MemfdArena::kBlockBytes;

void fill(SendMemory& memory, char with) {
  std::ranges::fill(memory.writable(), static_cast<std::byte>(with));
}

bool holds(const SendMemory& memory, char what) {
  return std::ranges::all_of(memory.bytes(),
                             [&](std::byte b) { return b == static_cast<std::byte>(what); });
}

TEST(MemfdArena, PiecesAreApartAndKeepTheirBytes) {
  MemfdArena arena(64 * base::kMiB);
  std::vector<SendMemory> pieces;
  for (int i = 0; i < 50; ++i) {
    pieces.push_back(arena.allocate(40'000 + static_cast<std::size_t>(i) * 1000));
    ASSERT_TRUE(pieces.back());
    fill(pieces.back(), static_cast<char>('a' + i % 26));
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(holds(pieces[static_cast<std::size_t>(i)], static_cast<char>('a' + i % 26)));
  }
}

TEST(MemfdArena, StaysWithinItsLimitAndRecovers) {
  MemfdArena arena(2 * kBlock);
  SendMemory first = arena.allocate(kBlock);
  SendMemory second = arena.allocate(kBlock);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_FALSE(arena.allocate(1));
  EXPECT_EQ(arena.reserved_bytes(), 2 * kBlock);
  first = SendMemory();
  SendMemory third = arena.allocate(kBlock);
  EXPECT_TRUE(third);
  EXPECT_EQ(arena.reserved_bytes(), 2 * kBlock);
}

TEST(MemfdArena, PiecesLargerThanABlockSpanNeighbours) {
  MemfdArena arena(64 * base::kMiB);
  SendMemory large = arena.allocate(5 * base::kMiB);
  ASSERT_TRUE(large);
  fill(large, 'x');
  EXPECT_EQ(arena.reserved_bytes(), 3 * kBlock);
  large = SendMemory();
  EXPECT_EQ(arena.reserved_bytes(), 0U);
  // The freed neighbours serve again before new addresses are used.
  const SendMemory again = arena.allocate(5 * base::kMiB);
  EXPECT_EQ(again.offset(), 0U);
}

TEST(MemfdArena, GivesEveryBlockBackWhateverTheOrder) {
  EXPECT_TRUE(rc::check("reserved returns to at most the open block", [] {
    MemfdArena arena(256 * base::kMiB);
    std::vector<SendMemory> pieces;
    const auto sizes = *rc::gen::container<std::vector<std::size_t>>(
        rc::gen::inRange<std::size_t>(1, 3 * base::kMiB));
    for (const std::size_t size : sizes) {
      pieces.push_back(arena.allocate(size));
      if (pieces.back() && *rc::gen::inRange(0, 2) == 0) {
        std::swap(pieces.back(), pieces[*rc::gen::inRange<std::size_t>(0, pieces.size())]);
        pieces.pop_back();
      }
    }
    pieces.clear();
    RC_ASSERT(arena.reserved_bytes() <= kBlock);
  }));
}

// The reason the arena never reuses pages: a peer that has not read yet must get the old bytes.
TEST(MemfdArena, BytesOnTheirWaySurviveFreeingAndReuse) {
  MemfdArena arena(kBlock);
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  SendMemory sent = arena.allocate(64 * base::kKiB);
  fill(sent, 'o');
  SendMemory rest = arena.allocate(kBlock - 64 * base::kKiB);
  auto offset = static_cast<off_t>(sent.offset());
  ASSERT_EQ(sendfile(pair[0], sent.descriptor(), &offset, 64 * base::kKiB), 64 * 1024);

  sent = SendMemory();
  rest = SendMemory();
  std::vector<SendMemory> reused;
  for (int i = 0; i < 32; ++i) {
    reused.push_back(arena.allocate(64 * base::kKiB));
    ASSERT_TRUE(reused.back());
    fill(reused.back(), 'n');
  }
  ASSERT_EQ(reused.front().offset(), 0U) << "the same place serves again";

  std::string received(64 * base::kKiB, '\0');
  for (std::size_t have = 0; have < received.size();) {
    const ssize_t n = read(pair[1], received.data() + have, received.size() - have);
    ASSERT_GT(n, 0);
    have += static_cast<std::size_t>(n);
  }
  EXPECT_EQ(received, std::string(received.size(), 'o'));
  close(pair[0]);
  close(pair[1]);
}

}  // namespace
}  // namespace ron::platform::posix
