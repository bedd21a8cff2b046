#include "platform/posix/local_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace ron::platform::posix {
namespace {

class LocalFiles : public ::testing::Test {
 protected:
  LocalFiles() {
    std::string pattern = ::testing::TempDir() + "ron-local-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) root_ = pattern;
  }
  ~LocalFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }

 private:
  std::string root_;
};

TEST_F(LocalFiles, LoadsAFileUpToTheCapAndOnlyItsSizeBeyond) {
  const std::string file = write("f", "12345");
  const auto whole = load_file(file, 5);
  ASSERT_TRUE(whole);
  EXPECT_EQ(base::as_text(whole->bytes.view()), "12345");
  const auto larger = load_file(file, 4);
  ASSERT_TRUE(larger);
  EXPECT_EQ(larger->stamp.bytes, 5U);
  EXPECT_EQ(larger->bytes.size(), 0U);
}

TEST_F(LocalFiles, DoesNotLoadThroughALink) {
  std::filesystem::create_symlink(write("f", "secret"), path("link"));
  EXPECT_FALSE(load_file(path("link"), 100));
  EXPECT_EQ(file_facts(path("link"))->kind, FileKind::Link);
  EXPECT_EQ(*real_path(path("link")), *real_path(path("f")));
}

TEST_F(LocalFiles, ListsNamesInOrderWithTheirKinds) {
  write("b", "");
  std::filesystem::create_directory(path("a"));
  std::filesystem::create_symlink("b", path("c"));
  const auto entries = list_local(path(""));
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].kind, FileKind::Directory);
  EXPECT_EQ((*entries)[1].name, "b");
  EXPECT_EQ((*entries)[1].kind, FileKind::Regular);
  EXPECT_EQ((*entries)[2].kind, FileKind::Link);
  EXPECT_EQ(list_local(path("none")).error().code, base::Code::NotFound);
}

TEST_F(LocalFiles, MakesDirectoriesWithTheirParentsOnce) {
  EXPECT_TRUE(make_public_directories(path("x/y/z")));
  EXPECT_TRUE(make_public_directories(path("x/y/z")));
  EXPECT_EQ(file_facts(path("x/y/z"))->kind, FileKind::Directory);
  write("file", "");
  EXPECT_FALSE(make_public_directories(path("file/below")));
  EXPECT_TRUE(sync_file_system(path("x")));
}

TEST_F(LocalFiles, PublishingReplacesTheOldFileAndSetsTheMode) {
  const std::string draft = write("draft", "new");
  write("f", "old");
  ASSERT_TRUE(publish_file(draft, path("f"), 0640));
  EXPECT_EQ(base::as_text(load_file(path("f"), 10)->bytes.view()), "new");
  EXPECT_FALSE(file_facts(draft));
  EXPECT_EQ(std::filesystem::status(path("f")).permissions(), std::filesystem::perms(0640));
  EXPECT_FALSE(publish_file(draft, path("f"), 0640)) << "there is no draft any more";
}

TEST_F(LocalFiles, ALockIsHeldByOne) {
  {
    const auto held = PathLock::file(path("f"));
    ASSERT_TRUE(held);
    EXPECT_EQ(PathLock::file(path("f")).error().code, base::Code::Busy);
    EXPECT_TRUE(PathLock::file(path("g")));
  }
  EXPECT_TRUE(PathLock::file(path("f")));
  const auto directory = PathLock::directory(path(""));
  ASSERT_TRUE(directory);
  EXPECT_EQ(PathLock::directory(path("")).error().code, base::Code::Busy);
  EXPECT_EQ(PathLock::directory(path("none")).error().code, base::Code::NotFound);
}

TEST_F(LocalFiles, AFileThatGotAnotherNameIsNotTheOneThatIsLocked) {
  const auto held = PathLock::file(path("draft"));
  ASSERT_TRUE(held);
  ASSERT_TRUE(publish_file(path("draft"), path("f"), 0644));
  EXPECT_TRUE(PathLock::file(path("draft"))) << "a new file";
}

TEST_F(LocalFiles, AStampTellsAChangedFile) {
  const std::string file = write("f", "one");
  const auto before = file_facts(file);
  write("f", "three");
  EXPECT_NE(before->stamp, file_facts(file)->stamp);
}

}  // namespace
}  // namespace ron::platform::posix
