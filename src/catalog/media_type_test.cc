#include "catalog/media_type.h"

#include <string>

#include <gtest/gtest.h>

namespace ron::catalog {
namespace {

TEST(MediaTypeOf, GoesByTheEnding) {
  EXPECT_EQ(media_type_of("index.html"), "text/html; charset=utf-8");
  EXPECT_EQ(media_type_of("a.b/PHOTO.JPG"), "image/jpeg");
  EXPECT_EQ(media_type_of("x.tar.gz"), "application/gzip");
  EXPECT_EQ(media_type_of("7z.7z"), "application/x-7z-compressed");
  EXPECT_EQ(media_type_of("a.zst"), "application/zstd");
  EXPECT_EQ(media_type_of("a.avi"), "video/x-msvideo");
  EXPECT_EQ(media_type_of("a.avif"), "image/avif");
}

TEST(MediaTypeOf, SaysNothingOfOthers) {
  for (const char* path :
       {"", "README", ".html", "a.html/b", "a.", "a.unheardof", "a.toolongtobeone", "a.html\xff"}) {
    EXPECT_EQ(media_type_of(path), kUnknownType) << path;
  }
}

TEST(IsMediaType, TakesWhatMayStandInAHeader) {
  for (const char* good : {"a/b", "text/html; charset=utf-8", "application/vnd.ron.manifest+json",
                           "text/plain;charset=\"utf-8\"", "a/b ; c=d"}) {
    EXPECT_TRUE(is_media_type(good)) << good;
  }
  EXPECT_TRUE(is_media_type(kUnknownType));
  for (const char* bad : {"", "a", "a/", "/b", "a b/c", "a/b\n", "a/b;\r\nx: y", "a/b,c", "ä/b",
                          "a/b; c=ä", "a//b"}) {
    EXPECT_FALSE(is_media_type(bad)) << bad;
  }
  EXPECT_TRUE(is_media_type("a/" + std::string(253, 'b')));
  EXPECT_FALSE(is_media_type("a/" + std::string(254, 'b')));
}

}  // namespace
}  // namespace ron::catalog
