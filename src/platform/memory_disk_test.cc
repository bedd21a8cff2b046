#include "platform/memory_disk.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "platform/sim/world.h"
#include "platform/test_support.h"

// What every disk does is in disk_contract_test.cc.
namespace ron::platform {
namespace {

using namespace std::chrono_literals;
using base::Code;
using test::Root;

constexpr std::uint64_t kPage = MemoryDisk::kPageBytes;
constexpr OpenOptions kCreate{OpenMode::CreateOrOpen, false};

base::Buffer bytes_of(std::size_t size, char fill) {
  base::Buffer buffer(size);
  std::memset(buffer.data(), fill, size);
  return buffer;
}

std::optional<Code> code_of(const auto& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

class MemoryDiskTest : public ::testing::Test {
 protected:
  void run(Task<void> task) {
    const Root root(node_.core(), std::move(task));
    EXPECT_EQ(world_.run_until([&] { return root.done(); }, 1h), sim::Outcome::Done);
  }

  sim::World world_{1};
  sim::Node& node_ = world_.add_node();
  MemoryDisk disk_{4 * kPage + MemoryDisk::kNameCharge};
};

Task<void> fill_up(MemoryDisk* disk) {
  const auto file = co_await disk->open("/f", kCreate);
  const auto most = co_await (*file)->write_at(0, bytes_of(3 * kPage + 1, 'a'));
  EXPECT_TRUE(most.has_value());
  EXPECT_EQ(disk->used_bytes(), 4 * kPage + MemoryDisk::kNameCharge) << "whole pages";
  const auto beyond = co_await (*file)->write_at(2 * kPage, bytes_of(2 * kPage + 1, 'b'));
  EXPECT_EQ(code_of(beyond), Code::StorageFull);
  EXPECT_EQ(code_of(co_await (*file)->truncate(5 * kPage)), Code::StorageFull);
  EXPECT_EQ(code_of(co_await disk->open("/g", kCreate)), Code::StorageFull);
  EXPECT_EQ(code_of(co_await disk->make_directory("/d")), Code::StorageFull);
  EXPECT_EQ(code_of(co_await disk->link("/f", "/g")), Code::StorageFull);
  const auto listed = co_await disk->list("/");
  EXPECT_EQ(listed->size(), 1U);
  const auto read = co_await (*file)->read_at(0, base::Buffer(5 * kPage));
  EXPECT_EQ(read->size(), 3 * kPage + 1);
  EXPECT_TRUE(std::ranges::all_of(read->view(), [](std::byte b) { return b == std::byte{'a'}; }));
  const auto in_place = co_await (*file)->write_at(kPage, bytes_of(3 * kPage, 'c'));
  EXPECT_TRUE(in_place.has_value()) << "within the pages it has";
  const auto moved = co_await disk->rename("/f", "/another name");
  EXPECT_TRUE(moved.has_value()) << "takes no room";
}
TEST_F(MemoryDiskTest, IsFullAtItsCapacityAndNothingChanged) { run(fill_up(&disk_)); }

Task<void> give_back(MemoryDisk* disk) {
  auto file = co_await disk->open("/f", kCreate);
  EXPECT_TRUE((co_await (*file)->write_at(0, bytes_of(4 * kPage, 'a'))).has_value());
  EXPECT_TRUE((co_await (*file)->truncate(kPage)).has_value());
  EXPECT_EQ(*co_await disk->free_bytes("/"), 3 * kPage);
  EXPECT_TRUE((co_await disk->remove("/f")).has_value());
  EXPECT_EQ(disk->used_bytes(), kPage) << "an open file keeps its bytes";
  (*file).reset();
  EXPECT_EQ(disk->used_bytes(), 0U);
  EXPECT_TRUE((co_await disk->open("/old", kCreate)).has_value());
  EXPECT_EQ(code_of(co_await disk->remove("/gone")), Code::NotFound);
  EXPECT_TRUE((co_await disk->remove("/old")).has_value());
  EXPECT_EQ(disk->used_bytes(), 0U);
}
TEST_F(MemoryDiskTest, GivesBackWhatIsRemovedAndClosed) { run(give_back(&disk_)); }

Task<void> replace(MemoryDisk* disk) {
  (co_await disk->open("/a", kCreate))->reset();
  auto draft = co_await disk->open("/b", kCreate);
  EXPECT_TRUE((co_await (*draft)->write_at(0, bytes_of(kPage, 'b'))).has_value());
  EXPECT_TRUE((co_await disk->rename("/b", "/a")).has_value());
  (*draft).reset();
  EXPECT_EQ(disk->used_bytes(), kPage + MemoryDisk::kNameCharge);
}
TEST_F(MemoryDiskTest, ARenameFreesWhatItReplaces) { run(replace(&disk_)); }

Task<void> name(MemoryDisk* disk) {
  const std::string longest(MemoryDisk::kLongestName, 'n');
  EXPECT_TRUE((co_await disk->open("/" + longest, kCreate)).has_value());
  EXPECT_EQ(code_of(co_await disk->open("/" + longest + "n", kCreate)), Code::Internal);
  EXPECT_EQ(code_of(co_await disk->rename("/" + longest, "/" + longest + "n")), Code::Internal);
  EXPECT_EQ(code_of(co_await disk->open(std::string("/a\0b", 4), kCreate)), Code::Internal);
  EXPECT_EQ(code_of(co_await disk->open("/../f", kCreate)), Code::Internal);
}
TEST_F(MemoryDiskTest, RefusesNamesThatNoDiskHas) { run(name(&disk_)); }

Task<void> cut_and_grow(MemoryDisk* disk) {
  const auto file = co_await disk->open("/f", kCreate);
  EXPECT_TRUE((co_await (*file)->write_at(0, bytes_of(2 * kPage, 'x'))).has_value());
  EXPECT_TRUE((co_await (*file)->truncate(10)).has_value());
  EXPECT_TRUE((co_await (*file)->truncate(2 * kPage)).has_value());
  const auto read = co_await (*file)->read_at(10, base::Buffer(2 * kPage));
  EXPECT_EQ(read->size(), 2 * kPage - 10);
  EXPECT_TRUE(std::ranges::all_of(read->view(), [](std::byte b) { return b == std::byte{0}; }));
}
TEST_F(MemoryDiskTest, WhatWasCutOffStaysGone) { run(cut_and_grow(&disk_)); }

Task<void> open_file(MemoryDisk* disk, std::unique_ptr<File>* out) {
  auto file = co_await disk->open("/f", kCreate);
  *out = std::move(*file);
}

Task<void> rewrite(File* file, int times) {
  for (int i = 0; i < times; ++i) {
    const char fill = i % 2 == 0 ? 'a' : 'b';
    const auto written = co_await file->write_at(100, bytes_of(2 * kPage, fill));
    EXPECT_TRUE(written.has_value());
  }
}

// Also what ThreadSanitizer looks at.
TEST_F(MemoryDiskTest, AnotherThreadSeesAWriteWholeOrNotAtAll) {
  std::unique_ptr<File> file;
  run(open_file(&disk_, &file));
  run(rewrite(file.get(), 1));
  std::atomic<bool> stop = false;
  std::atomic<int> torn = 0;
  {
    const std::jthread reader([&] {
      std::vector<std::byte> into(2 * kPage);
      while (!stop) {
        const std::optional<std::size_t> got = file->try_read_at(100, into);
        const bool whole = got == into.size() && std::ranges::count(into, into[0]) ==
                                                     static_cast<std::ptrdiff_t>(into.size());
        if (!whole) ++torn;
      }
    });
    run(rewrite(file.get(), 2000));
    stop = true;
  }
  EXPECT_EQ(torn, 0);
}

Task<void> read_on(File* file, const bool* stop, int* reads) {
  while (!*stop) {
    const auto read = co_await file->read_at(0, base::Buffer(16));
    EXPECT_TRUE(read.has_value());
    ++*reads;
  }
}

Task<void> set(bool* flag) {
  *flag = true;
  co_return;
}

TEST_F(MemoryDiskTest, ALoopThatNeverWaitsLetsOthersHaveTheirTurn) {
  std::unique_ptr<File> file;
  run(open_file(&disk_, &file));
  bool stop = false;
  int reads = 0;
  const Root reader(node_.core(), read_on(file.get(), &stop, &reads));
  const Root other(node_.core(), set(&stop));
  EXPECT_EQ(world_.run_until([&] { return reader.done(); }, 1h), sim::Outcome::Done);
}

}  // namespace
}  // namespace ron::platform
