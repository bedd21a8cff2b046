#include "services/kit/node_key.h"

#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "platform/memory_disk.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"
#include "volume/files.h"

namespace ron::kit {
namespace {

using platform::Task;

class NodeKeyTest : public ::testing::Test {
 protected:
  void SetUp() override { run(make_directory(this)); }

  void run(Task<void> task) {
    const platform::test::Root root(node_.core(), std::move(task));
    EXPECT_EQ(world_.run_until([&] { return root.done(); }, std::chrono::minutes(1)),
              platform::sim::Outcome::Done);
  }
  base::Result<NodeKey> load(const std::string& directory) {
    run(load_into(this, directory));
    return std::move(*loaded_);
  }
  std::size_t files() {
    run(count_files(this));
    return files_;
  }
  void write(const std::string& text) { run(write_key(this, text)); }

  static Task<void> make_directory(NodeKeyTest* self) {
    const auto made = co_await self->disk_.make_directory("keys");
    EXPECT_TRUE(made);
  }
  static Task<void> load_into(NodeKeyTest* self, std::string directory) {
    platform::Random* const random = &self->node_.host().random;
    auto key = co_await load_node_key(&self->disk_, random, std::move(directory));
    self->loaded_.emplace(std::move(key));
  }
  static Task<void> count_files(NodeKeyTest* self) {
    const auto all = co_await self->disk_.list("keys");
    self->files_ = all.value().size();
  }
  static Task<void> write_key(NodeKeyTest* self, std::string text) {
    const auto written = co_await volume::replace_file(
        &self->disk_, "keys", std::string(auth::kNodeKeyFile), std::string_view(text));
    EXPECT_TRUE(written);
  }

  platform::sim::World world_{1};
  platform::sim::Node& node_ = world_.add_node();
  platform::MemoryDisk disk_{base::kMiB};
  std::optional<base::Result<NodeKey>> loaded_;
  std::size_t files_ = 0;
};

TEST_F(NodeKeyTest, IsMadeOnceAndFoundByWhoeverComesLater) {
  const auto first = load("keys");
  const auto second = load("keys");
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ((*first)->public_key(), (*second)->public_key());
  EXPECT_EQ(files(), 1U);
}

TEST_F(NodeKeyTest, WithoutADirectoryItLivesInMemoryOnly) {
  const auto first = load("");
  const auto second = load("");
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_NE((*first)->public_key(), (*second)->public_key());
  EXPECT_EQ(files(), 0U);
}

TEST_F(NodeKeyTest, ADamagedOneIsNeverReplaced) {
  write("-----BEGIN PRIVATE KEY-----\nnonsense\n");
  const auto key = load("keys");
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, base::Code::Malformed);
  EXPECT_NE(key.error().message.find("keys/node.pem"), std::string::npos);
}

TEST_F(NodeKeyTest, ADirectoryThatIsMissingIsNamed) {
  const auto key = load("elsewhere");
  ASSERT_FALSE(key);
  EXPECT_NE(key.error().message.find("elsewhere"), std::string::npos);
}

}  // namespace
}  // namespace ron::kit
