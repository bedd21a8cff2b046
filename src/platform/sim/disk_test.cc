#include "platform/sim/disk.h"

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "platform/disk_error.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::platform::sim {
namespace {

using namespace std::chrono_literals;
using base::Code;
using test::Root;

constexpr OpenOptions kCreate{OpenMode::CreateOrOpen, false};

base::Buffer buffer_of(std::string_view text) {
  base::Buffer buffer(text.size());
  std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

// A world with one machine whose disk is used step by step.
struct Machine {
  explicit Machine(std::uint64_t seed, FaultPlan plan = {}) : world(seed, {.faults = plan}) {}

  void run(Task<void> task) {
    const Root root(node.core(), std::move(task));
    EXPECT_EQ(world.run_until([&] { return root.done(); }, 1h), Outcome::Done);
  }
  void cut_power() {
    node.power_cut();
    node.restart();
  }

  World world;
  Node& node = world.add_node();
};

Task<void> put(Disk* disk, std::string path, std::string text, bool sync, std::uint64_t at = 0) {
  auto file = co_await disk->open(path, kCreate);
  EXPECT_TRUE(file.has_value());
  if (!file) co_return;
  auto written = co_await (*file)->write_at(at, buffer_of(text));
  EXPECT_TRUE(written.has_value());
  if (sync) EXPECT_TRUE((co_await (*file)->sync()).has_value());
}

Task<void> get(Disk* disk, std::string path, std::string* out) {
  auto file = co_await disk->open(path, {OpenMode::ReadExisting, false});
  if (!file) {
    *out = "missing";
    co_return;
  }
  auto read = co_await (*file)->read_at(0, base::Buffer(100'000));
  *out = read ? std::string(base::as_text(read->view())) : "failed";
}

Task<void> sync_root(Disk* disk) { EXPECT_TRUE((co_await disk->sync_directory("/")).has_value()); }

Task<void> move(Disk* disk, std::string from, std::string to) {
  EXPECT_TRUE((co_await disk->rename(from, to)).has_value());
}

Task<void> drop(Disk* disk, std::string path) {
  EXPECT_TRUE((co_await disk->remove(path)).has_value());
}

Task<void> link(Disk* disk, std::string from, std::string to) {
  EXPECT_TRUE((co_await disk->link(from, to)).has_value());
}

std::string contents(Machine& machine, std::string path) {
  std::string text;
  machine.run(get(&machine.node.disk(), std::move(path), &text));
  return text;
}

TEST(SimDisk, SyncedBytesUnderSyncedNamesSurviveEveryPowerCut) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine(seed);
    machine.run(put(&machine.node.disk(), "/f", std::string(10'000, 'a'), true));
    machine.run(sync_root(&machine.node.disk()));
    machine.run(put(&machine.node.disk(), "/g", "unsynced", false));
    machine.cut_power();
    EXPECT_EQ(contents(machine, "/f"), std::string(10'000, 'a')) << seed;
  }
}

TEST(SimDisk, AFileWithTwoNamesIsOneFileAlsoAfterAPowerCut) {
  std::set<std::string> seconds;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine(seed);
    Disk* const disk = &machine.node.disk();
    machine.run(put(disk, "/f", std::string(10'000, 'a'), true));
    machine.run(sync_root(disk));
    machine.run(link(disk, "/f", "/g"));
    if (seed % 2 == 0) machine.run(sync_root(disk));
    machine.run(put(disk, "/f", std::string(10'000, 'b'), false));
    machine.cut_power();
    const std::string first = contents(machine, "/f");
    const std::string second = contents(machine, "/g");
    EXPECT_TRUE(second == first || (seed % 2 != 0 && second == "missing")) << seed;
    EXPECT_EQ(machine.node.disk().used_bytes(), 10'000U) << seed;
    seconds.insert(second == "missing" ? "lost" : "kept");
    machine.run(drop(disk, "/f"));
    EXPECT_EQ(machine.node.disk().used_bytes(), second == "missing" ? 0U : 10'000U) << seed;
    EXPECT_EQ(contents(machine, "/g"), second) << seed;
  }
  EXPECT_EQ(seconds.size(), 2U);
}

TEST(SimDisk, UnsyncedWritesAreKeptLostOrTorn) {
  std::set<std::string> kinds;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Machine machine(seed);
    Disk* const disk = &machine.node.disk();
    machine.run(put(disk, "/f", std::string(10'000, 'a'), true));
    machine.run(sync_root(disk));
    machine.run(put(disk, "/f", std::string(10'000, 'b'), false));
    machine.cut_power();
    const std::string text = contents(machine, "/f");
    ASSERT_EQ(text.size(), 10'000U);
    for (std::size_t at = 0; at < text.size(); at += 512) {
      const std::size_t end = std::min<std::size_t>(at + 512, text.size());
      ASSERT_EQ(text.find_first_not_of(text[at], at) < end, false) << "a sector is torn inside";
    }
    const bool old_bytes = text.find('a') != std::string::npos;
    const bool new_bytes = text.find('b') != std::string::npos;
    kinds.insert(old_bytes && new_bytes ? "torn" : old_bytes ? "lost" : "kept");
    // Out of order: a later sector survived although an earlier one did not.
    if (text.find("ab") != std::string::npos) kinds.insert("reordered");
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"torn", "lost", "kept", "reordered"}));
}

TEST(SimDisk, UnsyncedAppendsMayLeaveSizeOrZerosBehind) {
  std::set<std::string> kinds;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Machine machine(seed);
    Disk* const disk = &machine.node.disk();
    machine.run(put(disk, "/f", std::string(512, 'a'), true));
    machine.run(sync_root(disk));
    machine.run(put(disk, "/f", std::string(512, 'b'), false, 512));
    machine.run(put(disk, "/f", std::string(512, 'c'), false, 1024));
    machine.cut_power();
    const std::string text = contents(machine, "/f");
    ASSERT_EQ(text.substr(0, 512), std::string(512, 'a'));
    if (text.size() == 512) kinds.insert("short");
    if (text.size() == 1536 && text[512] == '\0' && text[1024] == 'c') kinds.insert("hole");
    if (text.size() == 1536 && text[1024] == '\0') kinds.insert("zeros");
    if (text.size() == 1024) kinds.insert("half");
    if (text.size() == 1536 && text[512] == 'b' && text[1024] == 'c') kinds.insert("whole");
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"short", "hole", "zeros", "half", "whole"}));
}

TEST(SimDisk, UnsyncedNamesAreKeptOrLost) {
  std::map<std::string, int> created;
  std::map<std::string, int> removed;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine(seed);
    Disk* const disk = &machine.node.disk();
    machine.run(put(disk, "/old", "x", true));
    machine.run(sync_root(disk));
    machine.run(put(disk, "/new", "x", true));
    machine.run(drop(disk, "/old"));
    machine.cut_power();
    ++created[contents(machine, "/new")];
    ++removed[contents(machine, "/old")];
  }
  EXPECT_GT(created["x"], 10);
  EXPECT_GT(created["missing"], 10);
  EXPECT_GT(removed["x"], 10);
  EXPECT_GT(removed["missing"], 10);
}

TEST(SimDisk, ARenameHappensWholeOrNotAtAll) {
  std::set<std::string> kinds;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine(seed);
    Disk* const disk = &machine.node.disk();
    machine.run(put(disk, "/name", "old", true));
    machine.run(sync_root(disk));
    machine.run(put(disk, "/draft", "new", true));
    machine.run(move(disk, "/draft", "/name"));
    machine.cut_power();
    const std::string name = contents(machine, "/name");
    const std::string draft = contents(machine, "/draft");
    EXPECT_TRUE(name == "old" || name == "new") << name;
    EXPECT_FALSE(name == "new" && draft == "new") << "under both names";
    kinds.insert(name + "+" + draft);
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"old+missing", "old+new", "new+missing"}));
}

TEST(SimDisk, AFailedSyncMayLoseWhatALaterOneReports) {
  Machine machine(4);
  Disk* const disk = &machine.node.disk();
  machine.run(put(disk, "/f", "a", true));
  machine.run(sync_root(disk));
  machine.node.disk().fail_next(DiskOp::Sync);
  auto body = [](Disk* on) -> Task<void> {
    auto file = co_await on->open("/f", kCreate);
    co_await (*file)->write_at(0, buffer_of("b"));
    const auto first = co_await (*file)->sync();
    EXPECT_EQ(first.error().code, Code::StorageBusy);
    const auto second = co_await (*file)->sync();
    EXPECT_TRUE(second.has_value());
  };
  machine.run(body(disk));
  EXPECT_EQ(contents(machine, "/f"), "b");
  machine.cut_power();
  EXPECT_EQ(contents(machine, "/f"), "a");
}

Task<void> expect_codes(Disk* disk, std::function<void()>* before, Code read, Code write) {
  auto file = co_await disk->open("/f", kCreate);
  (*before)();
  const auto got = co_await (*file)->read_at(0, base::Buffer(10));
  EXPECT_FALSE(got.has_value());
  if (!got) EXPECT_EQ(got.error().code, read);
  const auto put_back = co_await (*file)->write_at(0, buffer_of("xyz"));
  EXPECT_FALSE(put_back.has_value());
  if (!put_back) EXPECT_EQ(put_back.error().code, write);
}

TEST(SimDisk, ErrorsOnDemand) {
  Machine machine(1);
  std::function<void()> fail = [&] {
    machine.node.disk().fail_next(DiskOp::Read);
    machine.node.disk().fail_next(DiskOp::Write);
  };
  machine.run(expect_codes(&machine.node.disk(), &fail, Code::StorageBusy, Code::StorageBusy));
  machine.node.disk().fail_next(DiskOp::Name);
  EXPECT_EQ(contents(machine, "/f"), "missing");
  EXPECT_EQ(contents(machine, "/f"), "");
}

TEST(SimDisk, ErrorsByChance) {
  FaultPlan plan;
  plan.fail_read = plan.fail_write = kAlways;
  Machine machine(1, plan);
  std::function<void()> nothing = [] {};
  machine.run(expect_codes(&machine.node.disk(), &nothing, Code::StorageBusy, Code::StorageBusy));
}

TEST(SimDisk, NamesFailByChanceAndThenNothingHasHappened) {
  FaultPlan plan;
  plan.fail_name = kAlways / 2;
  Machine machine(1, plan);
  auto body = [](Disk* disk, int* failures) -> Task<void> {
    for (int i = 0; i < 40; ++i) {
      auto made = co_await disk->open("/f", {OpenMode::CreateNew, false});
      *failures += made ? 0 : 1;
      if (!made) continue;
      for (;;) {
        auto removed = co_await disk->remove("/f");
        if (removed) break;
        EXPECT_EQ(removed.error().code, Code::StorageBusy);
        EXPECT_TRUE(is_medium_error(removed.error()));
        ++*failures;
      }
    }
  };
  int failures = 0;
  machine.run(body(&machine.node.disk(), &failures));
  EXPECT_GT(failures, 10);
  EXPECT_LT(failures, 70);
}

TEST(SimDisk, ABrokenSectorFailsReadsThatTouchItUntilItIsWritten) {
  Machine machine(1);
  auto body = [](SimDisk* disk) -> Task<void> {
    auto file = co_await disk->open("/f", kCreate);
    co_await (*file)->write_at(0, base::Buffer(4096));
    EXPECT_TRUE(disk->break_sector("/f", 1000));
    EXPECT_FALSE(disk->break_sector("/f", 5000));
    const auto before = co_await (*file)->read_at(0, base::Buffer(512));
    EXPECT_TRUE(before.has_value());
    const auto across = co_await (*file)->read_at(0, base::Buffer(513));
    EXPECT_FALSE(across.has_value());
    const auto behind = co_await (*file)->read_at(1024, base::Buffer(100));
    EXPECT_TRUE(behind.has_value());
    co_await (*file)->write_at(600, base::Buffer(10));
    const auto partly = co_await (*file)->read_at(600, base::Buffer(10));
    EXPECT_FALSE(partly.has_value());
    co_await (*file)->write_at(512, base::Buffer(512));
    const auto wholly = co_await (*file)->read_at(0, base::Buffer(4096));
    EXPECT_TRUE(wholly.has_value());
  };
  machine.run(body(&machine.node.disk()));
}

TEST(SimDisk, AFullDiskSaysSoAndFreesOnRemove) {
  Machine machine(1);
  machine.node.disk().set_capacity(1000);
  auto body = [](Disk* disk) -> Task<void> {
    auto file = co_await disk->open("/f", kCreate);
    EXPECT_TRUE((co_await (*file)->write_at(0, buffer_of(std::string(900, 'x')))).has_value());
    const auto over = co_await (*file)->write_at(900, buffer_of(std::string(101, 'x')));
    EXPECT_EQ(over.error().code, Code::StorageFull);
    EXPECT_TRUE((co_await (*file)->write_at(0, buffer_of(std::string(900, 'y')))).has_value());
    EXPECT_EQ((co_await (*file)->truncate(5000)).error().code, Code::StorageFull);
    EXPECT_EQ(*co_await disk->free_bytes("/"), 100U);
    EXPECT_TRUE((co_await disk->remove("/f")).has_value());
    EXPECT_EQ(*co_await disk->free_bytes("/"), 100U);  // still open
    file->reset();
    EXPECT_EQ(*co_await disk->free_bytes("/"), 1000U);
  };
  machine.run(body(&machine.node.disk()));
}

TEST(SimDisk, BitsFlipOnDemand) {
  Machine machine(1);
  machine.run(put(&machine.node.disk(), "/f", "abc", true));
  EXPECT_TRUE(machine.node.disk().flip_bit("/f", 1, 0));
  EXPECT_EQ(contents(machine, "/f"), "acc");
  EXPECT_FALSE(machine.node.disk().flip_bit("/f", 3, 0));
  EXPECT_FALSE(machine.node.disk().flip_bit("/g", 0, 0));
}

TEST(SimDisk, BitsRotByChanceAndStayRotten) {
  Machine machine(1);
  const std::string text(2000, 'a');
  machine.run(put(&machine.node.disk(), "/f", text, true));
  machine.world.faults().rot_on_read = kAlways;
  std::string seen = text;
  for (int i = 0; i < 500 && seen == text; ++i) seen = contents(machine, "/f");
  machine.world.faults().rot_on_read = 0;
  EXPECT_NE(seen, text);
  EXPECT_EQ(contents(machine, "/f"), seen);
}

TEST(SimDisk, SyncsAreSlowByChance) {
  FaultPlan plan;
  plan.slow_sync = kAlways;
  plan.slow_sync_lasts = 5s;
  Machine machine(1, plan);
  machine.run(put(&machine.node.disk(), "/f", "x", true));
  EXPECT_GE(machine.world.now().time_since_epoch(), 5s);
}

TEST(SimDisk, FilesFromBeforeAPowerCutAreDead) {
  Machine machine(1);
  auto body = [](Machine* on) -> Task<void> {
    Disk& disk = on->node.disk();
    auto file = co_await disk.open("/f", kCreate);
    on->node.power_cut();
    EXPECT_EQ((co_await (*file)->read_at(0, base::Buffer(1))).error().code, Code::StorageBusy);
    EXPECT_EQ((co_await disk.open("/f", kCreate)).error().code, Code::StorageBusy);
    on->node.restart();
    EXPECT_EQ((co_await (*file)->write_at(0, buffer_of("x"))).error().code, Code::StorageBusy);
    EXPECT_TRUE((co_await disk.open("/f", kCreate)).has_value());
  };
  machine.run(body(&machine));
}

TEST(SimDisk, OperationsUnderWayFailAtAPowerCut) {
  Machine machine(1);
  Code code = Code::Internal;
  auto body = [](Disk* disk, Code* out) -> Task<void> {
    const auto opened = co_await disk->open("/f", kCreate);
    *out = opened ? Code::Canceled : opened.error().code;
  };
  const Root root(machine.node.core(), body(&machine.node.disk(), &code));
  machine.world.run_for(1us);
  machine.cut_power();
  machine.world.run_for(1s);
  EXPECT_TRUE(root.done());
  EXPECT_EQ(code, Code::StorageBusy);
}

TEST(SimDisk, AnAbortedWriteMayStillHappenLater) {
  std::set<std::string> kinds;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Machine machine(seed);
    Disk* const disk = &machine.node.disk();
    machine.run(put(disk, "/f", "old", false));
    auto root = std::make_unique<Root>(machine.node.core(), put(disk, "/f", "new", false));
    machine.world.run_for(Duration(50us + std::chrono::microseconds(seed * 3)));
    root.reset();
    const std::string at_abort = contents(machine, "/f");
    machine.world.run_for(1ms);
    kinds.insert(at_abort + "+" + contents(machine, "/f"));
  }
  EXPECT_TRUE(kinds.contains("old+old"));
  EXPECT_TRUE(kinds.contains("new+new"));
}

TEST(SimDisk, ADirectoryMustBeSyncedInItsParent) {
  std::set<std::string> kinds;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Machine machine(seed);
    auto body = [](Disk* disk) -> Task<void> {
      co_await disk->make_directory("/d");
      auto file = co_await disk->open("/d/f", kCreate);
      co_await (*file)->write_at(0, buffer_of("x"));
      co_await (*file)->sync();
      co_await disk->sync_directory("/d");
    };
    machine.run(body(&machine.node.disk()));
    machine.cut_power();
    kinds.insert(contents(machine, "/d/f"));
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"x", "missing"}));
}

TEST(SimDisk, DirectFilesRefuseOddPlaces) {
  Machine machine(1);
  auto body = [](Disk* disk) -> Task<void> {
    auto file = co_await disk->open("/f", {OpenMode::CreateOrOpen, true});
    EXPECT_TRUE((co_await (*file)->write_at(4096, base::Buffer(4096))).has_value());
    EXPECT_EQ((co_await (*file)->write_at(512, base::Buffer(4096))).error().code, Code::Internal);
    EXPECT_EQ((co_await (*file)->read_at(0, base::Buffer(100))).error().code, Code::Internal);
  };
  machine.run(body(&machine.node.disk()));
}

TEST(SimDisk, ParentPathsAreRefused) {
  Machine machine(1);
  auto body = [](Disk* disk) -> Task<void> {
    EXPECT_FALSE((co_await disk->open("/a/../f", kCreate)).has_value());
  };
  machine.run(body(&machine.node.disk()));
}

}  // namespace
}  // namespace ron::platform::sim
