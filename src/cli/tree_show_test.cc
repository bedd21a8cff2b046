#include "cli/tree_show.h"

#include <gtest/gtest.h>

#include "b3/hash.h"

namespace ron::cli {
namespace {

using catalog::ManifestEntry;

ManifestEntry file_at(std::string path, bool exec) {
  return {.path = std::move(path),
          .what = catalog::TreeFile{.address = b3::hash(base::as_bytes("hi")),
                                    .length = 2048,
                                    .type = "text/plain",
                                    .exec = exec},
          .mtime_s = {}};
}

TEST(EntryLine, IsTheNameAlone) {
  EXPECT_EQ(entry_line(file_at("a/b", false), "b", false), "b\n");
  EXPECT_EQ(entry_line({.path = "d", .what = catalog::TreeDirectory{}, .mtime_s = {}}, "d", false),
            "d/\n");
}

TEST(EntryLine, SaysAllThereIsWhenItIsLong) {
  const std::string address = b3::hash(base::as_bytes("hi")).text();
  ManifestEntry file = file_at("a/run", true);
  EXPECT_EQ(entry_line(file, "run", true), "x   2.00 KiB  " + address + "  run\n");
  file.mtime_s = 0;
  EXPECT_EQ(entry_line(file, "run", true),
            "x   2.00 KiB  1970-01-01T00:00:00Z  " + address + "  run\n");
  EXPECT_EQ(entry_line({.path = "l", .what = catalog::TreeLink{"a/run"}, .mtime_s = {}}, "l", true),
            "l             l -> a/run\n");
}

TEST(ChangeLine, HasALetterForEachKind) {
  const ManifestEntry before = file_at("a", false);
  const ManifestEntry after = file_at("a", true);
  EXPECT_EQ(change_line({nullptr, &after}), "A  a\n");
  EXPECT_EQ(change_line({&before, &after}), "M  a\n");
  EXPECT_EQ(change_line({&before, nullptr}), "D  a\n");
}

}  // namespace
}  // namespace ron::cli
