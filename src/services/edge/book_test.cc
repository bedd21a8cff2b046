#include "services/edge/book.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "chain/test_fault_disk.h"
#include "platform/memory_disk.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"
#include "volume/files.h"

namespace ron::edge {
namespace {

using base::Code;
using base::Result;
using platform::Task;
using Entries = Book::Entries;

constexpr const char* kPath = "edge/sites.json";

template <class T>
Task<void> keep(Task<Result<T>> task, std::optional<Result<T>>* kept) {
  Result<T> result = co_await task;
  kept->emplace(std::move(result));
}

template <class T>
Result<T> run(platform::sim::World& world, platform::sim::Node& node, Task<Result<T>> task) {
  std::optional<Result<T>> kept;
  const platform::test::Root root(node.core(), keep(std::move(task), &kept));
  const auto outcome = world.run_until([&] { return root.done(); }, std::chrono::minutes(1));
  if (outcome != platform::sim::Outcome::Done) return base::fail(Code::Timeout, "cut off");
  return std::move(*kept);
}

class BookTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(run(world_, node_, disk_.make_directory("edge"))); }

  template <class T>
  Result<T> run_here(Task<Result<T>> task) {
    return run(world_, node_, std::move(task));
  }
  void write(std::string text) {
    ASSERT_TRUE(run_here(volume::replace_file(&disk_, "edge", "sites.json", text)));
  }
  Result<Entries> reopened() {
    Book book(disk_, kPath);
    if (auto opened = run_here(book.open()); !opened) return base::fail(opened.error());
    return book.all();
  }

  platform::sim::World world_{1};
  platform::sim::Node& node_ = world_.add_node();
  platform::MemoryDisk disk_{128 * base::kMiB};
};

TEST_F(BookTest, KeepsWhatWasSetAndForgetsWhatWasRemoved) {
  Book book(disk_, kPath);
  ASSERT_TRUE(run_here(book.open()));
  EXPECT_TRUE(book.all().empty());
  ASSERT_TRUE(run_here(book.set("docs", "sites/docs")));
  ASSERT_TRUE(run_here(book.set("blog", "b3:0 \"quoted\" \n ü")));
  ASSERT_TRUE(run_here(book.set("docs", "sites/docs2")));
  EXPECT_EQ(*run_here(book.remove("nothing")), false);
  ASSERT_TRUE(run_here(book.set("gone", "x")));
  EXPECT_EQ(*run_here(book.remove("gone")), true);
  const Entries expected{{"docs", "sites/docs2"}, {"blog", "b3:0 \"quoted\" \n ü"}};
  EXPECT_EQ(book.all(), expected);
  EXPECT_EQ(*reopened(), expected);
}

TEST_F(BookTest, KeepsNothingWithoutAPath) {
  Book book(disk_, "");
  ASSERT_TRUE(run_here(book.open()));
  ASSERT_TRUE(run_here(book.set("docs", "sites/docs")));
  EXPECT_EQ(book.all().size(), 1U);
  EXPECT_TRUE(reopened()->empty());
}

TEST_F(BookTest, SaysWhichFileIsDamagedAndLeavesIt) {
  for (const std::string text :
       {"", "{", "{}", "[]", R"({"entries":{},"ron":"edge-book/2"})", R"({"ron":"edge-book/1"})",
        R"({"entries":[],"ron":"edge-book/1"})", R"({"entries":{"a":1},"ron":"edge-book/1"})",
        R"({"entries":{"":"x"},"ron":"edge-book/1"})",
        R"({"entries":{"a":"1","a":"2"},"ron":"edge-book/1"})"}) {
    write(text);
    const auto opened = reopened();
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().code, Code::IntegrityFail) << text;
    EXPECT_NE(opened.error().message.find(kPath), std::string::npos) << opened.error().message;
  }
}

TEST_F(BookTest, RefusesWhatIsTooLongOrTooMuch) {
  Book book(disk_, "");
  EXPECT_EQ(run_here(book.set("", "x")).error().code, Code::Malformed);
  EXPECT_EQ(run_here(book.set(std::string(Book::kMostNameBytes + 1, 'a'), "x")).error().code,
            Code::Malformed);
  EXPECT_EQ(run_here(book.set("a", std::string(Book::kMostValueBytes + 1, 'a'))).error().code,
            Code::Malformed);
  for (std::size_t i = 0; i < Book::kMostEntries; ++i) {
    ASSERT_TRUE(run_here(book.set(std::to_string(i), "x")));
  }
  EXPECT_EQ(run_here(book.set("one more", "x")).error().code, Code::Quota);
  EXPECT_TRUE(run_here(book.set("0", "changed")));
}

TEST_F(BookTest, ReadsBackTheLargestThereCanBe) {
  Book book(disk_, kPath);
  const std::string longest(Book::kMostValueBytes, '\x01');
  ASSERT_TRUE(run_here(book.set(std::string(Book::kMostNameBytes, '\x01'), longest)));
  EXPECT_EQ(reopened()->begin()->second, longest);
}

// A change at which the disk fails or the power goes, at each of its operations in turn.
TEST(Book, HasAllOfAChangeOrNothingOfIt) {
  std::size_t struck = 0;
  for (const chain::Fault fault : chain::kFaults) {
    for (std::uint64_t at = 0; at < 8; ++at) {
      platform::sim::World world(at + 1);
      platform::sim::Node& node = world.add_node();
      chain::FaultDisk disk(node);
      bool is_done = false;
      {
        Book book(disk, kPath);
        ASSERT_TRUE(run(world, node, book.set("docs", "old")));
        disk.arm(at, fault);
        is_done = run(world, node, book.set("docs", "new")).has_value();
        EXPECT_EQ(book.all().at("docs"), is_done ? "new" : "old");
      }
      struck += disk.has_struck() ? 1 : 0;
      node.power_cut();
      node.restart();
      Book book(node.disk(), kPath);
      ASSERT_TRUE(run(world, node, book.open()));
      const std::string kept = book.all().at("docs");
      EXPECT_TRUE(kept == "new" || (kept == "old" && !is_done)) << kept << " at " << at;
    }
  }
  EXPECT_GE(struck, 4 * std::size(chain::kFaults));
}

}  // namespace
}  // namespace ron::edge
