#include "services/registry/checkpoints.h"

#include <gtest/gtest.h>

#include "chain/snapshot.h"
#include "chain/test_signers.h"
#include "platform/memory_disk.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::registry {
namespace {

using namespace std::chrono_literals;
using base::Code;
using chain::testing::node_value;
using chain::testing::set_of;
using chain::testing::TestLog;
using chain::testing::update_value;
using platform::Task;

class CheckpointsTest : public ::testing::Test {
 protected:
  void run(Task<void> task) {
    const platform::test::Root root(node_.core(), std::move(task));
    EXPECT_EQ(world_.run_until([&] { return root.done(); }, 1h), platform::sim::Outcome::Done);
  }

  platform::sim::World world_{1};
  platform::sim::Node& node_ = world_.add_node();
  platform::MemoryDisk disk_{64 * base::kMiB};
};

chain::Snapshot snapshot_of(std::size_t nodes) {
  TestLog log(set_of(1, {1, 2}));
  for (std::size_t i = 0; i < nodes; ++i) {
    EXPECT_TRUE(log.add(update_value({node_value("n" + std::to_string(i))}), {1}));
  }
  return chain::take_snapshot(log.state());
}

SignedCheckpoint checkpoint_of(const chain::Snapshot& snapshot, std::uint64_t version) {
  SignedCheckpoint made;
  made.checkpoint.version = version;
  made.checkpoint.state = snapshot.hash();
  made.note = "a note";
  return made;
}

// Else a start would find a checkpoint that it cannot go on from, and entries before it are gone.
Task<void> add_too_large(platform::MemoryDisk* disk) {
  co_await disk->make_directory("/c");
  const chain::Snapshot small = snapshot_of(1);
  const chain::Snapshot large = snapshot_of(9);
  Checkpoints checkpoints(disk, "/c", chain::encode(small).size());
  const auto added = co_await checkpoints.add(checkpoint_of(small, 1), &small);
  EXPECT_TRUE(added.has_value());
  const auto read = co_await checkpoints.read_snapshot(1);
  EXPECT_TRUE(read.has_value());
  const auto refused = co_await checkpoints.add(checkpoint_of(large, 9), &large);
  EXPECT_FALSE(refused.has_value());
  if (!refused) EXPECT_EQ(refused.error().code, Code::Quota);
  EXPECT_EQ(checkpoints.latest()->checkpoint.version, 1);
  const auto files = co_await disk->list("/c");
  EXPECT_EQ(files->size(), 2U);
}

TEST_F(CheckpointsTest, NoSnapshotIsWrittenThatIsTooLargeToBeRead) { run(add_too_large(&disk_)); }

// So long that it takes more than one read.
chain::Snapshot with_summary(std::size_t bytes) { return {std::string(bytes, 's'), "rest"}; }

Task<void> read_summaries(platform::MemoryDisk* disk) {
  co_await disk->make_directory("/c");
  Checkpoints checkpoints(disk, "/c");
  std::uint64_t version = 0;
  for (const std::size_t bytes :
       {0UL, 1UL, 23UL, 24UL, 255UL, 256UL, 65'000UL, 65'535UL, 65'536UL, 200'000UL}) {
    const chain::Snapshot snapshot = with_summary(bytes);
    const auto added = co_await checkpoints.add(checkpoint_of(snapshot, ++version), &snapshot);
    EXPECT_TRUE(added.has_value());
    const auto summary = co_await checkpoints.read_summary(checkpoints.latest());
    EXPECT_TRUE(summary.has_value()) << bytes;
    if (summary) EXPECT_TRUE(*summary == snapshot.summary) << bytes;
  }
  // Another state than the checkpoint's, and no state at all.
  const chain::Snapshot other = with_summary(7);
  auto lie = std::make_shared<SignedCheckpoint>(checkpoint_of(other, 1));
  const auto wrong = co_await checkpoints.read_summary(lie);
  EXPECT_FALSE(wrong.has_value());
  if (!wrong) EXPECT_EQ(wrong.error().code, Code::IntegrityFail);
  lie->checkpoint.version = 77;
  const auto missing = co_await checkpoints.read_summary(lie);
  EXPECT_FALSE(missing.has_value());
}

TEST_F(CheckpointsTest, ReadsASummaryWithoutTheRest) { run(read_summaries(&disk_)); }

}  // namespace
}  // namespace ron::registry
