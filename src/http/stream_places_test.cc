#include "http/stream_places.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/test_support.h"

namespace ron::http {
namespace {

using base::Code;

class StreamPlacesTest : public testing::Test {
 protected:
  [[nodiscard]] std::int64_t refused(std::string_view full) const {
    return test::reading(meters_, "http_event_streams_refused_total", full);
  }

  runtime::Meters meters_{"svc-test"};
  StreamPlaces places_{meters_, {.most = 4, .most_of_one = 2}};
};

TEST_F(StreamPlacesTest, OneClientCannotTakeThemAll) {
  const auto first = places_.enter("tenant a");
  const auto second = places_.enter("tenant a");
  EXPECT_TRUE(first && second);
  const auto third = places_.enter("tenant a");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::Busy);
  const std::vector<std::pair<std::string, std::string>> details{{"share_of", "tenant a"},
                                                                 {"max_streams_per_tenant", "2"}};
  EXPECT_EQ(third.error().details, details);
  EXPECT_EQ(refused("share"), 1);
  EXPECT_TRUE(places_.enter("tenant b"));
}

TEST_F(StreamPlacesTest, WhoCannotBeToldApartHasTheBoundOfAllOnly) {
  std::vector<StreamPlaces::Place> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(std::move(*places_.enter("")));
  EXPECT_FALSE(places_.enter(""));
  EXPECT_EQ(refused("all"), 1);
}

TEST_F(StreamPlacesTest, TheySayWhenAllAreTaken) {
  const auto a = places_.enter("a");
  const auto b = places_.enter("b");
  const auto c = places_.enter("c");
  const auto d = places_.enter("d");
  EXPECT_TRUE(a && b && c && d);
  const auto fifth = places_.enter("e");
  ASSERT_FALSE(fifth);
  EXPECT_EQ(fifth.error().details.front().first, "streams");
  EXPECT_EQ(refused("all"), 1);
  EXPECT_EQ(places_.open(), 4U);
}

// One that was refused for want of room has not used up a part of its own share.
TEST_F(StreamPlacesTest, ARefusalHoldsNothing) {
  {
    std::vector<StreamPlaces::Place> taken;
    for (const char* const share : {"a", "b", "c", "d"}) {
      taken.push_back(std::move(*places_.enter(share)));
    }
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(places_.enter("e"));
  }
  EXPECT_EQ(places_.open(), 0U);
  const auto first = places_.enter("e");
  const auto second = places_.enter("e");
  EXPECT_TRUE(first && second);
}

TEST_F(StreamPlacesTest, NewBoundsHoldForTheNextStream) {
  const auto first = places_.enter("a");
  places_.apply({.most = 4, .most_of_one = 1});
  EXPECT_TRUE(first);
  EXPECT_FALSE(places_.enter("a"));
  places_.apply({.most = 4, .most_of_one = 2});
  EXPECT_TRUE(places_.enter("a"));
}

}  // namespace
}  // namespace ron::http
