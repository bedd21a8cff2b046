#include "base/units.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/about.h"

namespace ron::base {
namespace {

using namespace std::chrono_literals;

TEST(Units, ParsesWhatTheContractShows) {
  EXPECT_EQ(parse_size("64KiB")->bytes, 65536U);
  EXPECT_EQ(parse_size("1MiB")->bytes, 1048576U);
  EXPECT_EQ(parse_size("2GB")->bytes, 2'000'000'000U);
  EXPECT_EQ(parse_size("4096")->bytes, 4096U);
  EXPECT_EQ(*parse_duration("150ms"), 150ms);
  EXPECT_EQ(*parse_duration("5s"), 5s);
  EXPECT_EQ(*parse_duration("10m"), 10min);
  EXPECT_EQ(*parse_duration("24h"), 24h);
  EXPECT_EQ(*parse_duration("30d"), 720h);
  EXPECT_EQ(parse_rate("50MiB/s")->bytes_per_second, 50 * kMiB);
}

TEST(Units, RefusesWhatIsNotAUnit) {
  for (const char* bad : {"", "MiB", "-1", "+1", "1.5MiB", " 1", "1 MiB", "1mib", "1KiBs",
                          "18446744073709551616", "18446744073709551615KiB"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
  for (const char* bad : {"", "5", "s", "5 s", "5sec", "-5s", "1.5s", "9223372036854775808ns",
                          "9223372036854775807s"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
  for (const char* bad : {"", "50MiB", "/s", "50MiB/m", "50MiB/s/s"}) {
    EXPECT_FALSE(parse_rate(bad)) << bad;
  }
}

TEST(Units, PrintingRoundTrips) {
  EXPECT_TRUE(rc::check("parse(print(size))", [](std::uint64_t bytes) {
    RC_ASSERT(parse_size(print(Size{bytes}))->bytes == bytes);
  }));
  EXPECT_TRUE(rc::check("parse(print(duration))", [] {
    const auto nanos = *rc::gen::nonNegative<std::int64_t>();
    RC_ASSERT(*parse_duration(print(Duration(nanos))) == Duration(nanos));
  }));
  EXPECT_EQ(print(Size{65536}), "64KiB");
  EXPECT_EQ(print(Size{0}), "0B");
  EXPECT_EQ(print(Duration(150ms)), "150ms");
  EXPECT_EQ(print(Duration(0)), "0s");
  EXPECT_EQ(print(Rate{50 * kMiB}), "50MiB/s");
}

TEST(About, HasThreeDigitsOrSo) {
  EXPECT_EQ(about(0), "0B");
  EXPECT_EQ(about(1023), "1023B");
  EXPECT_EQ(about(1024), "1.0KiB");
  EXPECT_EQ(about(5 * kMiB + kMiB / 2), "5.5MiB");
  EXPECT_EQ(about(300 * kGiB), "300.0GiB");
  EXPECT_EQ(about(UINT64_MAX), "17179869183.9GiB");
}

}  // namespace
}  // namespace ron::base
