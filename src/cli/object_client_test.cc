#include "cli/object_client.h"

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "cli/get.h"
#include "cli/local_sinks.h"
#include "cli/object_pages.h"

namespace ron::cli {
namespace {

TEST(UploadStatus, KnowsWhichPartsHaveArrived) {
  const auto status = parse_upload_status(R"({"length":9437184,"arrived":[[0,2],[5,5],[7,8]]})");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->length, 9437184U);
  for (const std::uint64_t part : {0, 1, 2, 5, 7, 8}) EXPECT_TRUE(status->has(part)) << part;
  for (const std::uint64_t part : {3, 4, 6, 9, 100}) EXPECT_FALSE(status->has(part)) << part;
  EXPECT_FALSE(parse_upload_status(R"({"length":1,"arrived":[]})")->has(0));
}

TEST(UploadStatus, RefusesWhatIsNotOne) {
  for (const char* text :
       {"", "[]", "{}", R"({"length":1})", R"({"length":-1,"arrived":[]})",
        R"({"length":1,"arrived":[[1,0]]})", R"({"length":1,"arrived":[[0]]})",
        R"({"length":1,"arrived":[[0,2],[2,3]]})", R"({"length":1,"arrived":[["0","1"]]})"}) {
    EXPECT_EQ(parse_upload_status(text).error().code, base::Code::UpstreamFail) << text;
  }
}

TEST(ObjectPage, ListsAddresses) {
  const std::string address = b3::hash({}).text();
  const auto page = parse_object_page(R"({"objects":[{"address":")" + address + R"("}]})");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->front(), b3::hash({}));
  EXPECT_TRUE(parse_object_page(R"({"objects":[]})")->empty());
  for (const char* text : {"", "[]", "{}", R"({"objects":{}})", R"({"objects":[1]})",
                           R"({"objects":[{"address":"b3:12"}]})"}) {
    EXPECT_FALSE(parse_object_page(text)) << text;
  }
}

TEST(ObjectHolders, AreNames) {
  const auto holders = parse_object_holders(R"({"holders":["acme","birch"],"more_holders":true})");
  ASSERT_TRUE(holders);
  EXPECT_EQ(holders->tenants, (std::vector<std::string>{"acme", "birch"}));
  EXPECT_TRUE(holders->more);
  EXPECT_FALSE(parse_object_holders(R"({"holders":[]})")->more);
  for (const char* text : {"", "[]", "{}", R"({"holders":{}})", R"({"holders":[1]})"}) {
    EXPECT_FALSE(parse_object_holders(text)) << text;
  }
}

TEST(Describe, NamesTheCodeAndTheCorrelationId) {
  base::Error error(base::Code::Busy, "the queue is full");
  EXPECT_EQ(describe(error), "the queue is full (Busy)");
  EXPECT_EQ(describe(std::move(error).with("queue", "work").with("corr_id", "01H")),
            "the queue is full (Busy, corr 01H)");
}

TEST(ByteRange, IsFirstAndLast) {
  EXPECT_EQ(*parse_byte_range("0-0"), (ByteRange{0, 0}));
  EXPECT_EQ(*parse_byte_range("5-10"), (ByteRange{5, 10}));
  EXPECT_EQ(*parse_byte_range("7-"), (ByteRange{7, std::nullopt}));
  for (const char* text :
       {"", "-", "5", "-5", "5-4", "a-b", "1-2-3", "+1-2", "1-99999999999999999999"}) {
    EXPECT_FALSE(parse_byte_range(text)) << text;
  }
}

TEST(PartPath, IsHiddenBesideTheFileAndNamesTheAddress) {
  const base::ObjectId id = b3::hash({});
  const std::string start = id.text().substr(3, 16);
  EXPECT_EQ(part_path("film", id), ".film." + start + ".ron-part");
  EXPECT_EQ(part_path("/a/b/film", id), "/a/b/.film." + start + ".ron-part");
  const std::string longest = part_path("d/" + std::string(255, 'n'), id);
  EXPECT_LE(longest.size() - 2, 255U) << "a name the file system takes";
  EXPECT_TRUE(longest.starts_with("d/.") && longest.ends_with(".ron-part"));
}

TEST(PartPath, HasSeveralNamesAndEachNamesItsFile) {
  const base::ObjectId id = b3::hash({});
  std::set<std::string> names;
  for (const std::string& file :
       {std::string("film"), std::string("a.b"), std::string(".x.1"), std::string(250, 'n')}) {
    for (unsigned number = 0; number < kPartNames; ++number) {
      const std::string name = part_path(file, id, number);
      EXPECT_LE(name.size(), 255U);
      EXPECT_TRUE(is_part_path(name));
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(name_of_whole(name), file.size() < 200 ? file : "") << name;
    }
  }
  for (const char* other :
       {"film", ".film.ron-part", ".film.0123.ron-part", ".ron-part",
        ".film.0123456789ABCDEF.ron-part", "a/.film.0123456789abcdef.ron-part"}) {
    EXPECT_EQ(name_of_whole(other), "") << other;
  }
}

}  // namespace
}  // namespace ron::cli
