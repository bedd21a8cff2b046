#include "auth/caveat.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "auth/test_support.h"

namespace ron::auth {
namespace {

Caveat parsed(std::string_view text) { return parse_caveat(text, UnknownScopes::kRefuse).value(); }
bool refused(std::string_view text) {
  const auto caveat = parse_caveat(text, UnknownScopes::kIgnore);
  return !caveat && caveat.error().code == base::Code::Malformed;
}

TEST(Scope, NamesAreTheContracts) {
  EXPECT_EQ(print(ScopeSet::all()),
            "storage:write,storage:delete,storage:admin,index:write,index:admin,registry:propose,"
            "registry:approve,registry:commit,registry:govern,edge:admin,gateway:admin");
  EXPECT_EQ(parse_scopes(print(ScopeSet::all()), UnknownScopes::kRefuse).value(), ScopeSet::all());
  EXPECT_EQ(scope_named("edge:admin"), Scope::kEdgeAdmin);
  EXPECT_EQ(scope_named("edge"), std::nullopt);
}

TEST(Scope, UnknownNamesAreRefusedForMintingAndIgnoredForVerifying) {
  const auto refusal = parse_scopes("storage:write,storage:wirte", UnknownScopes::kRefuse);
  ASSERT_FALSE(refusal);
  EXPECT_NE(refusal.error().message.find("storage:wirte"), std::string::npos);
  const auto kept = parse_scopes("storage:write,storage:wirte", UnknownScopes::kIgnore);
  ASSERT_TRUE(kept);
  EXPECT_EQ(print(*kept), "storage:write");
  EXPECT_TRUE(parse_scopes("future:scope", UnknownScopes::kIgnore).value().empty());
}

TEST(Caveat, ParsesEachKind) {
  ScopeSet scopes;
  scopes.add(Scope::kStorageWrite);
  scopes.add(Scope::kIndexWrite);
  EXPECT_EQ(parsed("scope = index:write,storage:write"), Caveat(ScopeCaveat{scopes}));
  EXPECT_EQ(parsed("tenant = Acme_1.eu-west"), Caveat(TenantCaveat{"Acme_1.eu-west"}));
  EXPECT_EQ(parsed("path_prefix = /o"), Caveat(PathPrefixCaveat{"/o"}));
  EXPECT_EQ(parsed("method = PUT,GET,PUT"), Caveat(MethodCaveat{{"GET", "PUT"}}));
  EXPECT_EQ(parsed("expires = 2027-01-15T09:00:00+01:00"), Caveat(ExpiresCaveat{1'800'000'000}));
  EXPECT_EQ(parsed("max_bytes = 18446744073709551615"),
            Caveat(MaxBytesCaveat{std::numeric_limits<std::uint64_t>::max()}));
}

TEST(Caveat, RefusesUnknownKeysAndLooseSpacing) {
  for (const char* bad :
       {"", " = ", "scope", "scope = ", "scope=storage:write", "scope =storage:write",
        "scope= storage:write", "scope  = storage:write", "scope =  storage:write",
        " scope = storage:write", "scope = storage:write ", "Scope = storage:write",
        "scope\t= storage:write", "colour = blue", "tenant = a = b",
        "scope = scope = storage:write", "expires < 2027-01-15T08:00:00Z"}) {
    EXPECT_TRUE(refused(bad)) << bad;
  }
}

TEST(Caveat, RefusesBadValues) {
  for (const std::string& bad : {std::string("scope = storage"),
                                 std::string("scope = storage:"),
                                 std::string("scope = storage:write,"),
                                 std::string("scope = ,storage:write"),
                                 std::string("scope = storage:write, index:write"),
                                 std::string("scope = STORAGE:WRITE"),
                                 std::string("tenant = a b"),
                                 std::string("tenant = a/b"),
                                 "tenant = " + std::string(65, 'a'),
                                 std::string("tenant = a\0", 11),
                                 std::string("path_prefix = o"),
                                 std::string("path_prefix = /o/../p"),
                                 std::string("path_prefix = /o/%2E%2e/p"),
                                 std::string("path_prefix = /o?x"),
                                 "path_prefix = /" + std::string(1024, 'a'),
                                 std::string("method = get"),
                                 std::string("method = GET,"),
                                 std::string("method = GET, PUT"),
                                 "method = " + std::string(17, 'A'),
                                 std::string("expires = tomorrow"),
                                 std::string("expires = 2023-02-29T00:00:00Z"),
                                 std::string("max_bytes = -1"),
                                 std::string("max_bytes = +1"),
                                 std::string("max_bytes = 01"),
                                 std::string("max_bytes = 1k"),
                                 std::string("max_bytes = 18446744073709551616"),
                                 std::string("max_bytes = 0x10")}) {
    EXPECT_TRUE(refused(bad)) << bad;
  }
}

TEST(Caveat, ReadsBackWhatItPrints) {
  EXPECT_TRUE(rc::check("parse(print(c)) == c", [] {
    const auto first = parse_caveat(*testing::caveat_text(), UnknownScopes::kRefuse);
    RC_PRE(first.has_value());
    RC_ASSERT(parsed(print(*first)) == *first);
  }));
}

TEST(PlainPath, IsTheSameToEveryReader) {
  for (const char* good :
       {"/", "/o", "/o/", "/o/b3:ab", "/a/.hidden", "/a/..b", "/a//b", "/%41", "/a;b"}) {
    EXPECT_TRUE(is_plain_path(good)) << good;
  }
  for (const char* bad : {"",         "o",       "/.",          "/..",      "/o/..",
                          "/o/./x",   "/o/../x", "/o/%2e%2e/x", "/o/%2E/x", "/o/..;/x",
                          "/o/.;a=b", "/o%2fx",  "/o%5Cx",      "/o\\x",    "/o x",
                          "/o?x",     "/o#x",    "/o%2",        "/o\x7f",   "/o\xc3\xa9"}) {
    EXPECT_FALSE(is_plain_path(bad)) << bad;
  }
}

}  // namespace
}  // namespace ron::auth
