#include "platform/posix/local_tree.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace ron::platform::posix {
namespace {

namespace fs = std::filesystem;
using base::as_bytes;
using base::Code;

// A directory for the tree, and beside it one that nothing may be written to.
class LocalTreeTest : public ::testing::Test {
 protected:
  LocalTreeTest() {
    std::string pattern = ::testing::TempDir() + "ron-tree-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) root_ = pattern;
    fs::create_directory(root_ + "/outside");
    fs::create_directory(root_ + "/tree");
    std::ofstream(root_ + "/outside/canary") << "alive";
  }
  ~LocalTreeTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  [[nodiscard]] LocalTree tree(bool force = false) const {
    return LocalTree::open(root_ + "/tree", {.mode = 0644, .force = force}).value();
  }
  [[nodiscard]] std::string in_tree(const std::string& path) const {
    return root_ + "/tree/" + path;
  }
  [[nodiscard]] static std::string text_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void expect_nothing_outside() const {
    EXPECT_EQ(text_of(root_ + "/outside/canary"), "alive");
    EXPECT_EQ(std::distance(fs::directory_iterator(root_ + "/outside"), {}), 1);
    EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 2);
  }
  // Draft and name, as a restored file comes.
  static base::Result<void> put(const LocalTree& tree, const std::string& path,
                                std::string_view text, const Attributes& attributes = {}) {
    const std::string draft = path + ".draft";
    auto written = tree.write(draft, as_bytes(text));
    if (!written) return written;
    return tree.publish(draft, path, attributes);
  }

  std::string root_;
};

TEST_F(LocalTreeTest, DraftsTakeThePlaceOfNothingElse) {
  const LocalTree to = tree();
  std::ofstream(in_tree("left")) << "left";
  std::ofstream(in_tree("other")) << "other";
  fs::create_hard_link(in_tree("other"), in_tree("hard"));
  fs::create_symlink(root_ + "/outside/canary", in_tree("link"));
  fs::create_symlink("nothing", in_tree("dangling"));
  fs::create_directory(in_tree("directory"));
  for (const char* name : {"left", "new", "no/directory/yet"}) {
    EXPECT_TRUE(to.may_be_draft(name)) << name;
  }
  for (const char* name : {"hard", "link", "dangling", "directory"}) {
    EXPECT_FALSE(to.may_be_draft(name)) << name;
    EXPECT_FALSE(to.remove_draft(name)) << name;
  }
  EXPECT_EQ(to.names_in("").value().size(), 8U);  // with . and ..
  EXPECT_TRUE(to.remove_draft("left"));
  EXPECT_FALSE(fs::exists(in_tree("left")));
  EXPECT_TRUE(to.names_in("no/directory/yet").value().empty());
  expect_nothing_outside();
}

TEST_F(LocalTreeTest, ADraftThatSomebodyWritesIsNotRemoved) {
  const LocalTree to = tree();
  auto held = PathLock::file(in_tree("part"));
  ASSERT_TRUE(held.has_value());
  EXPECT_FALSE(to.remove_draft("part"));
  EXPECT_TRUE(fs::exists(in_tree("part")));
}

TEST_F(LocalTreeTest, TheDraftOfALinkHasNoNameThatIsTaken) {
  const LocalTree to = tree();
  ASSERT_TRUE(to.make_link("d/l", "a", {}));
  std::vector<std::string> asked;
  ASSERT_TRUE(to.make_link("d/l", "b", {}, [&asked](const std::string& path) {
    asked.push_back(path);
    return asked.size() < 3;
  }));
  EXPECT_EQ(asked, (std::vector<std::string>{"d/.ron-link-0", "d/.ron-link-1", "d/.ron-link-2"}));
  EXPECT_EQ(fs::read_symlink(in_tree("d/l")), "b");
}

TEST_F(LocalTreeTest, PutsFilesWithTheirAttributes) {
  const LocalTree to = tree();
  ASSERT_TRUE(put(to, "a/b/run", "#!", {.executable = true, .modified_s = 1'000'000'000}));
  ASSERT_TRUE(put(to, "a/plain", "text"));
  EXPECT_EQ(text_of(in_tree("a/b/run")), "#!");
  struct stat status{};
  ASSERT_EQ(stat(in_tree("a/b/run").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0755U);
  EXPECT_EQ(status.st_mtim.tv_sec, 1'000'000'000);
  ASSERT_EQ(stat(in_tree("a/plain").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
}

TEST_F(LocalTreeTest, FindsAndAdjustsWhatIsThere) {
  const LocalTree to = tree();
  ASSERT_TRUE(put(to, "a/f", "12345"));
  const auto present = to.find("a/f");
  ASSERT_TRUE(present && *present);
  EXPECT_EQ((*present)->bytes, 5U);
  ASSERT_TRUE(to.set(**present, {.executable = true, .modified_s = 7}));
  struct stat status{};
  ASSERT_EQ(stat(in_tree("a/f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0755U);
  EXPECT_EQ(status.st_mtim.tv_sec, 7);
  ASSERT_TRUE(to.set(**present, {}));
  ASSERT_EQ(stat(in_tree("a/f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
  EXPECT_FALSE(*to.find("a"));
  EXPECT_FALSE(*to.find("nothing/here"));
}

TEST_F(LocalTreeTest, RefusesPathsThatLeadOut) {
  const LocalTree to = tree(true);
  for (const std::string path : {"../outside/x", "a/../../outside/x", "..", ".", "", "a/..", "a//b",
                                 "/tmp/ron-escaped", "a/", "./x"}) {
    EXPECT_FALSE(to.write(path, as_bytes("bad"))) << path;
    EXPECT_FALSE(to.make_link(path, "x", {})) << path;
    EXPECT_FALSE(to.check_free(path)) << path;
    EXPECT_FALSE(to.parent(path)) << path;
    const auto found = to.find(path);
    EXPECT_FALSE(found && *found) << path;
  }
  EXPECT_FALSE(to.make_directory("../outside/x", {}));
  EXPECT_FALSE(to.make_directory("/tmp/ron-escaped", {}));
  EXPECT_FALSE(fs::exists("/tmp/ron-escaped"));
  ASSERT_TRUE(to.write("d", as_bytes("draft")));
  EXPECT_FALSE(to.publish("d", "../outside/canary", {}));
  EXPECT_FALSE(to.publish("..", "x", {}));
  expect_nothing_outside();
}

TEST_F(LocalTreeTest, NeverGoesThroughALinkThatIsThere) {
  fs::create_symlink("../outside", in_tree("dir"));
  fs::create_symlink("../../outside/canary", in_tree("file"));
  fs::create_symlink(root_ + "/outside/new", in_tree("dangling"));
  const LocalTree to = tree();
  const auto below = put(to, "dir/x", "bad");
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, Code::PreconditionFailed);
  EXPECT_TRUE(below.error().message.contains("symbolic link; --force")) << below.error().message;
  EXPECT_FALSE(put(to, "dir/canary", "bad"));
  EXPECT_FALSE(to.make_directory("dir/x", {}));
  EXPECT_FALSE(to.make_link("dir/x", "y", {}));
  EXPECT_FALSE(*to.find("dir/canary"));
  EXPECT_FALSE(put(to, "file", "bad"));
  EXPECT_FALSE(put(to, "dangling", "bad"));
  EXPECT_FALSE(*to.find("file"));
  expect_nothing_outside();
}

// The draft's own name may be taken by a link as well.
TEST_F(LocalTreeTest, ReplacesLinksIfForcedAndLeavesWhatTheyLeadTo) {
  fs::create_symlink("../outside", in_tree("dir"));
  fs::create_symlink("../outside/canary", in_tree("file"));
  fs::create_symlink("../outside/canary", in_tree("f.draft"));
  const LocalTree to = tree(true);
  EXPECT_TRUE(put(to, "dir/canary", "mine"));
  EXPECT_TRUE(put(to, "file", "mine"));
  EXPECT_TRUE(put(to, "f", "mine"));
  EXPECT_EQ(text_of(in_tree("dir/canary")), "mine");
  EXPECT_FALSE(fs::is_symlink(in_tree("dir")));
  EXPECT_FALSE(fs::is_symlink(in_tree("file")));
  expect_nothing_outside();
}

TEST_F(LocalTreeTest, NeverReplacesADirectoryOrADevice) {
  fs::create_directory(in_tree("dir"));
  ASSERT_EQ(mkfifo(in_tree("pipe").c_str(), 0600), 0);
  for (const bool force : {false, true}) {
    const LocalTree to = tree(force);
    EXPECT_FALSE(put(to, "dir", "x"));
    EXPECT_FALSE(to.make_link("dir", "x", {}));
    EXPECT_FALSE(put(to, "pipe", "x"));
    EXPECT_FALSE(put(to, "pipe/x", "x"));
    EXPECT_FALSE(*to.find("pipe"));
  }
}

TEST_F(LocalTreeTest, ReplacesReadOnlyFilesIfForced) {
  std::ofstream(in_tree("f")) << "old";
  fs::permissions(in_tree("f"), fs::perms::owner_read);
  {
    const LocalTree to = tree();
    const auto refused = put(to, "f", "new");
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.contains("read-only"));
  }
  EXPECT_TRUE(put(tree(true), "f", "new"));
  EXPECT_EQ(text_of(in_tree("f")), "new");
}

TEST_F(LocalTreeTest, MakesAndMovesLinks) {
  const LocalTree to = tree();
  ASSERT_TRUE(to.make_link("a/l", "../b", 1'000));
  EXPECT_EQ(fs::read_symlink(in_tree("a/l")), "../b");
  struct stat status{};
  ASSERT_EQ(lstat(in_tree("a/l").c_str(), &status), 0);
  EXPECT_EQ(status.st_mtim.tv_sec, 1'000);
  std::ofstream(in_tree("a/.ron-link-0")) << "mine";
  ASSERT_TRUE(to.make_link("a/l", "c", {}));
  EXPECT_EQ(fs::read_symlink(in_tree("a/l")), "c");
  EXPECT_EQ(text_of(in_tree("a/.ron-link-0")), "mine");
  std::ofstream(in_tree("f")) << "old";
  EXPECT_FALSE(fs::is_symlink(in_tree("f")));
  fs::permissions(in_tree("f"), fs::perms::owner_read);
  EXPECT_FALSE(to.make_link("f", "c", {}));
  EXPECT_EQ(text_of(in_tree("f")), "old");
}

TEST_F(LocalTreeTest, IsOneProcessesAtATime) {
  const LocalTree to = tree();
  const auto second = LocalTree::open(root_ + "/tree", {.mode = 0644});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::Busy);
}

TEST_F(LocalTreeTest, MakesEmptyDirectories) {
  const LocalTree to = tree();
  ASSERT_TRUE(to.make_directory("a/b", 1'000));
  ASSERT_TRUE(to.make_directory("a/b", {}));
  EXPECT_TRUE(fs::is_directory(in_tree("a/b")));
  std::ofstream(in_tree("f")) << "x";
  EXPECT_FALSE(to.make_directory("f", {}));
  EXPECT_TRUE(to.sync());
}

}  // namespace
}  // namespace ron::platform::posix
