#include "cli/caveat_flags.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/rfc3339.h"

namespace ron::cli {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;  // 2027-01-15T08:00:00Z

std::vector<std::string> texts(const CaveatFlags& flags) {
  std::vector<std::string> out;
  const auto caveats = caveats_of(flags, kNow);
  EXPECT_TRUE(caveats) << caveats.error().message;
  for (const auth::Caveat& caveat : caveats.value()) out.push_back(auth::print(caveat));
  return out;
}

std::string refusal(const CaveatFlags& flags) {
  const auto caveats = caveats_of(flags, kNow);
  return caveats ? "" : caveats.error().message;
}

TEST(CaveatFlags, EveryFlagBecomesItsCaveat) {
  const CaveatFlags flags{"storage:write,index:write", "acme", "/o", "PUT,GET", "24h", "64KiB"};
  const std::vector<std::string> expected{"scope = storage:write,index:write",
                                          "tenant = acme",
                                          "path_prefix = /o",
                                          "method = GET,PUT",
                                          "expires = 2027-01-16T08:00:00Z",
                                          "max_bytes = 65536"};
  EXPECT_EQ(texts(flags), expected);
}

TEST(CaveatFlags, FlagsThatAreNotGivenAddNothing) { EXPECT_TRUE(texts({}).empty()); }

TEST(CaveatFlags, RefusalsNameTheFlag) {
  EXPECT_TRUE(refusal({.scope = "storage:wirte"}).starts_with("--scope: unknown scope"));
  EXPECT_TRUE(refusal({.tenant = "a b"}).starts_with("--tenant: "));
  EXPECT_TRUE(refusal({.path_prefix = "o"}).starts_with("--path-prefix: "));
  EXPECT_TRUE(refusal({.method = "get"}).starts_with("--method: "));
  EXPECT_TRUE(refusal({.expires = "tomorrow"}).starts_with("--expires: "));
  EXPECT_TRUE(refusal({.max_bytes = "lots"}).starts_with("--max-bytes: "));
}

TEST(ParseWhen, TakesDurationsAndTimes) {
  EXPECT_EQ(parse_when("90m", kNow), kNow + 5400);
  EXPECT_EQ(parse_when("2027-01-15T09:00:00+00:30", kNow), kNow + 1800);
}

TEST(ParseWhen, RefusesWhatHasPassedOrNeverComes) {
  for (const char* text : {"0s", "500ms", "2027-01-15T08:00:00Z", "1999-01-01T00:00:00Z", "", "24",
                           "-1h", "2027-13-01T00:00:00Z", "106751d"}) {
    const auto when = parse_when(text, kNow);
    if (when) EXPECT_LE(*when, base::kMaxUnixS);
    EXPECT_EQ(when.has_value(), std::string(text) == "106751d") << text;
  }
  EXPECT_FALSE(parse_when("106751d", base::kMaxUnixS - 5));
}

TEST(CaveatFlags, AnyTextGivesCaveatsOrARefusal) {
  EXPECT_TRUE(rc::check("caveats_of(anything)", [] {
    const CaveatFlags flags{*rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>(),
                            *rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>(),
                            *rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>()};
    const auto caveats = caveats_of(flags, kNow);
    if (!caveats) {
      RC_ASSERT(caveats.error().message.starts_with("--"));
      return;
    }
    for (const auth::Caveat& caveat : *caveats) {
      RC_ASSERT(auth::parse_caveat(auth::print(caveat), auth::UnknownScopes::kRefuse).has_value());
    }
  }));
}

}  // namespace
}  // namespace ron::cli
