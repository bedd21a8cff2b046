#include "chain/tree_files.h"

#include <atomic>

#include <gtest/gtest.h>

#include "chain/test_tree.h"
#include "platform/contract_world.h"
#include "runtime/deadline.h"
#include "runtime/test_wires.h"
#include "volume/test_support.h"

namespace ron::chain {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;
using platform::Task;
using platform::sim::DiskOp;
using testing::numbered_leaves;
using testing::Proof;
using testing::store;
using volume::Machine;

constexpr const char* kDirectory = "/tree";

TreeFrontier frontier_of(const Proof& leaves, std::uint64_t size) {
  TreeFrontier frontier;
  for (const TreeHash& leaf : std::span(leaves).first(size)) frontier.append(leaf);
  return frontier;
}

// A machine and, while its process runs, a tree.
struct Box {
  explicit Box(std::uint64_t seed = 1) : machine(seed) {}

  template <class T>
  T run(Task<T> task) {
    std::optional<T> value;
    machine.run(store(std::move(task), &value));
    return std::move(*value);
  }
  Result<void> open(std::uint64_t size) {
    tree = std::make_unique<Tree>(&machine.node.disk(), kDirectory, runtime::kTestLocks[0]);
    return run(tree->open(size));
  }
  void append(const Proof& leaves, std::uint64_t from, std::uint64_t to) {
    tree->append(std::span(leaves).subspan(from, to - from));
  }
  void power_cut() {
    machine.node.power_cut();
    tree.reset();
    machine.node.restart();
  }
  // Everything that can be read of the tree is that of these leaves.
  void expect_holds(const Proof& leaves, std::uint64_t size) {
    EXPECT_EQ(tree->size(), size);
    EXPECT_EQ(tree->frontier(), frontier_of(leaves, size));
    EXPECT_EQ(run(tree_root(tree.get(), size)).value(), frontier_of(leaves, size).root());
    const auto read = run(tree->read(0, 0, size));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(std::ranges::equal(*read, std::span(leaves).first(size)));
  }

  Machine machine;
  std::unique_ptr<Tree> tree;
};

TEST(TreeFiles, HoldsWhatWasAppendedFlushedOrNot) {
  const Proof leaves = numbered_leaves(70'000);
  Box box;
  ASSERT_TRUE(box.open(0));
  box.expect_holds(leaves, 0);
  for (const auto& [from, to] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 1}, {1, 255}, {255, 256}, {256, 600}, {600, 65'535}, {65'535, 70'000}}) {
    box.append(leaves, from, to);
    box.expect_holds(leaves, to);
    EXPECT_EQ(box.tree->flushed(), from);
    ASSERT_TRUE(box.run(box.tree->flush()));
    EXPECT_EQ(box.tree->flushed(), to);
    box.expect_holds(leaves, to);
  }
}

TEST(TreeFiles, ReadsAcrossWhatIsFlushedAndWhatIsNot) {
  const Proof leaves = numbered_leaves(600);
  Box box;
  ASSERT_TRUE(box.open(0));
  box.append(leaves, 0, 300);
  ASSERT_TRUE(box.run(box.tree->flush()));
  box.append(leaves, 300, 600);
  for (std::uint64_t first = 290; first < 310; ++first) {
    for (std::size_t count = 0; count < 20; ++count) {
      const auto read = box.run(box.tree->read(0, first, count)).value();
      EXPECT_TRUE(std::ranges::equal(read, std::span(leaves).subspan(first, count)));
    }
  }
  EXPECT_EQ(box.run(box.tree->read(0, 590, 11)).error().code, Code::NotFound);
  EXPECT_EQ(box.run(box.tree->read(0, 601, 0)).error().code, Code::NotFound);
  EXPECT_EQ(box.run(box.tree->read(0, ~std::uint64_t{0}, 2)).error().code, Code::NotFound);
  EXPECT_EQ(box.run(box.tree->read(kTileLevels, 0, 0)).error().code, Code::NotFound);
}

TEST(TreeFiles, GivesTilesByTheirNames) {
  const Proof leaves = numbered_leaves(70'000);
  Box box;
  ASSERT_TRUE(box.open(0));
  box.append(leaves, 0, 70'000);
  const auto tile = [&box](std::string_view path) {
    return box.run(box.tree->read_tile(parse_tile_path(path).value()));
  };
  // What the specification says of a tree of 70,000.
  EXPECT_TRUE(
      std::ranges::equal(tile("tile/0/272").value(), std::span(leaves).subspan(272 * 256, 256)));
  EXPECT_EQ(tile("tile/0/273").error().code, Code::NotFound);
  EXPECT_EQ(tile("tile/0/273.p/112").value().size(), 112U);
  EXPECT_EQ(tile("tile/0/273.p/113").error().code, Code::NotFound);
  EXPECT_EQ(tile("tile/1/000").value().size(), 256U);
  EXPECT_EQ(tile("tile/1/001.p/17").value().size(), 17U);
  EXPECT_EQ(tile("tile/1/001.p/18").error().code, Code::NotFound);
  EXPECT_EQ(tile("tile/2/000.p/1").value().front(), frontier_of(leaves, 65'536).root());
  EXPECT_EQ(tile("tile/2/000.p/2").error().code, Code::NotFound);
  EXPECT_EQ(tile("tile/entries/000").error().code, Code::NotFound);
}

TEST(TreeFiles, ComesBackAsOfAnySizeThatWasFlushed) {
  const Proof leaves = numbered_leaves(70'000);
  Box box;
  ASSERT_TRUE(box.open(0));
  box.append(leaves, 0, 70'000);
  ASSERT_TRUE(box.run(box.tree->flush()));
  // Going back only: what lies beyond is cut off.
  for (const std::uint64_t size : {70'000U, 69'999U, 65'536U, 65'535U, 513U, 256U, 255U, 1U, 0U}) {
    ASSERT_TRUE(box.open(size)) << size;
    EXPECT_EQ(box.tree->flushed(), size);
    box.expect_holds(leaves, size);
    const auto longer = box.open(size + 1);
    ASSERT_FALSE(longer) << size;
    EXPECT_EQ(longer.error().code, Code::IntegrityFail);
  }
}

TEST(TreeFiles, SaysWhichFileIsTooShort) {
  const Proof leaves = numbered_leaves(600);
  Box box;
  ASSERT_TRUE(box.open(0));
  box.append(leaves, 0, 600);
  ASSERT_TRUE(box.run(box.tree->flush()));
  const auto longer = box.open(768);
  EXPECT_EQ(longer.error().message, "/tree/0 holds 600 hashes of the tree, and there were 768");
  ASSERT_TRUE(box.run(box.machine.node.disk().remove("/tree/1")));
  const auto missing = box.open(600);
  EXPECT_EQ(missing.error().message, "/tree/1 holds 0 hashes of the tree, and there were 2");
}

Task<Result<void>> shorten(platform::Disk* disk, std::string path, std::uint64_t bytes) {
  auto file = co_await disk->open(path, {platform::OpenMode::WriteExisting, false});
  if (!file) co_return base::fail(std::move(file.error()));
  auto cut = co_await (*file)->truncate(bytes);
  co_return cut;
}

TEST(TreeFiles, AFileThatShrinksWhileItIsUsedIsDamage) {
  const Proof leaves = numbered_leaves(600);
  Box box;
  ASSERT_TRUE(box.open(0));
  box.append(leaves, 0, 600);
  ASSERT_TRUE(box.run(box.tree->flush()));
  ASSERT_TRUE(box.run(shorten(&box.machine.node.disk(), "/tree/0", 599 * 32)));
  EXPECT_EQ(box.run(box.tree->read(0, 512, 88)).error().code, Code::IntegrityFail);
}

TEST(TreeFiles, AFlippedBitIsNoticedByWhoeverVerifies) {
  const Proof leaves = numbered_leaves(600);
  Box box;
  ASSERT_TRUE(box.open(0));
  box.append(leaves, 0, 600);
  ASSERT_TRUE(box.run(box.tree->flush()));
  const TreeHash root = box.tree->frontier().root();
  ASSERT_TRUE(box.machine.node.disk().flip_bit("/tree/0", 5 * 32 + 3, 1));
  const Proof proof = box.run(inclusion_proof(box.tree.get(), 4, 600)).value();
  EXPECT_FALSE(verify_inclusion(4, 600, leaves[4], proof, root));
  const Proof elsewhere = box.run(inclusion_proof(box.tree.get(), 300, 600)).value();
  EXPECT_TRUE(verify_inclusion(300, 600, leaves[300], elsewhere, root));
}

// Each operation of a flush fails once: nothing is lost, and the next flush makes up for it.
TEST(TreeFiles, AFailedFlushIsMadeUpForByTheNext) {
  const Proof leaves = numbered_leaves(600);
  for (const DiskOp op : {DiskOp::Write, DiskOp::Sync, DiskOp::Name}) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      Box box(seed);
      ASSERT_TRUE(box.open(0));
      box.append(leaves, 0, 600);
      box.machine.node.disk().fail_next(op);
      ASSERT_FALSE(box.run(box.tree->flush()));
      EXPECT_EQ(box.tree->flushed(), 0U);
      box.expect_holds(leaves, 600);
      ASSERT_TRUE(box.run(box.tree->flush()));
      box.power_cut();
      ASSERT_TRUE(box.open(600));
      box.expect_holds(leaves, 600);
    }
  }
}

TEST(TreeFiles, NothingCountsAsFlushedBeforeAllOfItIs) {
  const Proof leaves = numbered_leaves(600);
  int failures = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Box box(seed);
    ASSERT_TRUE(box.open(0));
    box.append(leaves, 0, 600);
    box.machine.world.faults() = {
        .fail_write = 150'000, .fail_sync = 150'000, .fail_name = 150'000};
    while (!box.run(box.tree->flush())) {
      EXPECT_EQ(box.tree->flushed(), 0U);
      ++failures;
    }
    box.machine.world.faults() = {};
    box.power_cut();
    ASSERT_TRUE(box.open(600)) << "seed " << seed;
    box.expect_holds(leaves, 600);
  }
  EXPECT_GT(failures, 200);
}

Task<void> try_to_flush(Tree* tree) {
  const auto flushed = co_await tree->flush();
  static_cast<void>(flushed);
}

// Power goes at any moment of a flush, again and again: the tree is there as of the last one that
// was over, and goes on with other leaves than those that were lost.
TEST(TreeFiles, SurvivesPowerCutsAtAnyMoment) {
  std::uint64_t lost_changes = 0;
  std::uint64_t cut_flushes = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Box box(seed);
    platform::FastRandom random(seed);
    Proof leaves;
    std::uint64_t flushed = 0;
    for (int life = 0; life < 6; ++life) {
      const auto opened = box.open(flushed);
      ASSERT_TRUE(opened) << "seed " << seed << ": " << opened.error().message;
      leaves.resize(flushed);
      ASSERT_NO_FATAL_FAILURE(box.expect_holds(leaves, flushed)) << "seed " << seed;
      for (std::uint64_t flushes = random.below(3); flushes-- > 0;) {
        const Proof more = numbered_leaves(random.below(700), random.next() >> 8);
        box.tree->append(more);
        leaves.insert(leaves.end(), more.begin(), more.end());
        ASSERT_TRUE(box.run(box.tree->flush()));
        flushed = leaves.size();
      }
      box.tree->append(numbered_leaves(random.below(700), random.next() >> 8));
      std::optional<platform::test::Root> flushing;
      flushing.emplace(box.machine.node.core(), try_to_flush(box.tree.get()));
      box.machine.world.run_for(std::chrono::microseconds(random.below(4000)));
      cut_flushes += flushing->done() ? 0 : 1;
      flushing.reset();
      box.power_cut();
    }
    lost_changes += box.machine.node.disk().lost_changes();
  }
  EXPECT_GT(cut_flushes, 300U);
  EXPECT_GT(lost_changes, 100U);
}

// One task appends and flushes on a core while others prove, on their own cores, what there is.
struct Sharing {
  Tree* tree;
  Proof leaves = numbered_leaves(3000);
  std::atomic<bool> grown = false;
  std::atomic<int> proven = 0;
};

Task<void> grow(Sharing* sharing) {
  const Proof& leaves = sharing->leaves;
  for (std::size_t at = 0, step = 1; at < leaves.size(); at += step, step = at % 97 + 1) {
    step = std::min(step, leaves.size() - at);
    sharing->tree->append(std::span(leaves).subspan(at, step));
    while (sharing->proven == 0) co_await runtime::sleep_for(100us);
    if (at % 3 != 0) continue;
    const auto flushed = co_await sharing->tree->flush();
    EXPECT_TRUE(flushed.has_value());
  }
  sharing->grown = true;
}

Task<void> open_and_grow(Sharing* sharing) {
  const auto opened = co_await sharing->tree->open(0);
  EXPECT_TRUE(opened.has_value());
  co_await grow(sharing);
}

Task<void> prove(Sharing* sharing) {
  Tree* const tree = sharing->tree;
  platform::FastRandom random(7);
  for (int proven = 0; proven < 20 || !sharing->grown;) {
    const TreeFrontier frontier = tree->frontier();
    const std::uint64_t size = frontier.size();
    if (size == 0) {
      co_await runtime::sleep_for(100us);
      continue;
    }
    const std::uint64_t index = random.below(size);
    const auto proof = co_await inclusion_proof(tree, index, size);
    EXPECT_TRUE(proof &&
                verify_inclusion(index, size, sharing->leaves[index], *proof, frontier.root()));
    EXPECT_LE(tree->flushed(), tree->size());
    ++proven;
    ++sharing->proven;
    co_await runtime::sleep_for(50us);
  }
}

TEST(TreeFiles, IsReadWhileItGrowsInTheSimulation) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    platform::sim::World world(seed);
    platform::sim::Node& node = world.add_node({.cores = 3});
    Tree tree(&node.disk(), kDirectory, runtime::kTestLocks[0]);
    Sharing sharing{&tree};
    const platform::test::Root growing(node.core(0), open_and_grow(&sharing));
    const platform::test::Root first(node.core(1), prove(&sharing));
    const platform::test::Root second(node.core(2), prove(&sharing));
    ASSERT_EQ(world.run_until([&] { return growing.done() && first.done() && second.done(); }, 1h),
              platform::sim::Outcome::Done);
    EXPECT_GE(sharing.proven, 40);
  }
}

TEST(TreeFiles, IsReadWhileItGrowsOnRealThreads) {
  const platform::test::ScratchDirectory scratch;
  platform::posix::PosixHost machine(
      {.cores = 2, .blocking_threads = 2, .disk = platform::posix::DiskEngine::Pool});
  Tree tree(&machine.host().disk, scratch.path() + "/tree", runtime::kTestLocks[0]);
  Sharing sharing{&tree};
  std::atomic<int> left = 2;
  const auto one_done = [&] {
    if (--left == 0) machine.stop();
  };
  struct Begin : platform::Job {
    Begin() : Job([](Job&) noexcept {}) {}
  };
  const platform::test::Root growing(*machine.host().cores[0], open_and_grow(&sharing), one_done);
  const platform::test::Root proving(*machine.host().cores[1], prove(&sharing), one_done);
  Begin begin;
  machine.run(begin);
  EXPECT_TRUE(growing.done() && proving.done());
  EXPECT_GE(sharing.proven, 20);
}

}  // namespace
}  // namespace ron::chain
