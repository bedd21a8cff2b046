#include "platform/posix/local_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

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
  [[nodiscard]] unsigned mode_of(const std::string& name) const {
    return static_cast<unsigned>(std::filesystem::status(path(name)).permissions());
  }

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

TEST_F(LocalFiles, SaysWhetherAFileCanBeRead) {
  EXPECT_TRUE(check_readable(write("f", "1")));
  EXPECT_FALSE(check_readable(path("none")));
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
  EXPECT_TRUE(make_public_directories(path("x/y/z"), 0644));
  EXPECT_TRUE(make_public_directories(path("x/y/z"), 0644));
  EXPECT_EQ(file_facts(path("x/y/z"))->kind, FileKind::Directory);
  write("file", "");
  EXPECT_FALSE(make_public_directories(path("file/below"), 0644));
  EXPECT_TRUE(sync_file_system(path("x")));
}

TEST_F(LocalFiles, PublishingANewFileSetsItsMode) {
  const std::string draft = write("draft", "new");
  ASSERT_TRUE(publish_file(draft, path("f"), 0640));
  EXPECT_EQ(base::as_text(load_file(path("f"), 10)->bytes.view()), "new");
  EXPECT_FALSE(file_facts(draft));
  EXPECT_EQ(mode_of("f"), 0640U);
  EXPECT_FALSE(publish_file(draft, path("f"), 0640)) << "there is no draft any more";
}

TEST_F(LocalFiles, PublishingOverAFileKeepsItsPermissionsButNoOtherBits) {
  const std::string draft = write("draft", "new");
  std::filesystem::permissions(write("f", "old"), std::filesystem::perms(04751));
  ASSERT_TRUE(publish_file(draft, path("f"), 0640));
  EXPECT_EQ(base::as_text(load_file(path("f"), 10)->bytes.view()), "new");
  EXPECT_EQ(mode_of("f"), 0751U);
}

TEST_F(LocalFiles, OutputGoesToTheEndOfLinks) {
  write("file", "");
  std::filesystem::create_symlink("file", path("link"));
  std::filesystem::create_symlink("link", path("second"));
  std::filesystem::create_symlink("none", path("dangling"));
  std::filesystem::create_symlink("loop", path("loop"));
  EXPECT_EQ(output_target(path("second"))->path, *real_path(path("file")));
  EXPECT_EQ(output_target(path("dangling"))->path, path("none"));
  EXPECT_EQ(output_target(path("new"))->path, path("new"));
  EXPECT_EQ(output_target(path("file"))->path, path("file"));
  EXPECT_FALSE(output_target(path("loop")));
}

TEST_F(LocalFiles, OutputToAPipeOrDeviceIsAStream) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", path("link"));
  for (const std::string& name : {path("pipe"), path("link"), std::string("/dev/null")}) {
    EXPECT_TRUE(output_target(name)->is_stream) << name;
  }
  EXPECT_FALSE(output_target(path(""))->is_stream) << "a directory is told later";
}

TEST_F(LocalFiles, WhatMustNotBeReplacedIsInTheWay) {
  EXPECT_TRUE(check_replaceable(path("new"), false));
  EXPECT_TRUE(check_replaceable(write("file", ""), false));
  const auto refused = [this](const std::string& name) {
    const auto free = check_replaceable(path(name), false);
    return free ? "" : free.error().message;
  };
  std::filesystem::permissions(write("locked", ""), std::filesystem::perms(0444));
  EXPECT_NE(refused("locked").find("read-only"), std::string::npos);
  std::filesystem::create_hard_link(write("one", ""), path("two"));
  EXPECT_NE(refused("two").find("hard links"), std::string::npos);
  std::filesystem::create_symlink("file", path("link"));
  EXPECT_NE(refused("link").find("symbolic link"), std::string::npos);
  for (const char* name : {"locked", "two", "link"}) {
    EXPECT_TRUE(check_replaceable(path(name), true)) << name;
  }
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(check_replaceable(path("pipe"), true));
  EXPECT_FALSE(check_replaceable(path(""), true));
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
