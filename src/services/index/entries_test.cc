#include "services/index/entries.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "services/index/test_index.h"

namespace ron::index {
namespace {

using testing::address_of;
using testing::named;

RC_GTEST_PROP(NameVersion, IsReadAsItWasWritten, (std::string type, std::string tenant)) {
  NameVersion version = named("docs/v2", "x");
  version.version = *rc::gen::inRange<std::uint64_t>(1, UINT64_MAX);
  version.at_ms = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  // The map holds UTF-8; what is not was refused before.
  std::erase_if(type, [](char c) { return c < ' ' || c > '~'; });
  std::erase_if(tenant, [](char c) { return c < ' ' || c > '~'; });
  version.type = type;
  version.tenant = tenant;
  version.meta = {{"a", type}, {"b", tenant}};
  if (*rc::gen::arbitrary<bool>()) version.target.reset();
  const auto read = decode_name_version(encode(version));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == version);
}

TEST(NameVersion, DamageIsSeen) {
  const std::string bytes = encode(named("docs", "x"));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto cut = decode_name_version(std::string_view(bytes).substr(0, length));
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, base::Code::IntegrityFail);
  }
  EXPECT_FALSE(decode_name_version(bytes + "x"));
}

TEST(Keys, AreInTheOrderOfVersions) {
  EXPECT_LT(version_key("docs", 9), version_key("docs", 10));
  EXPECT_LT(version_key("docs", 255), version_key("docs", 256));
  // All of a name's versions are before any of a longer name.
  EXPECT_LT(version_key("docs", UINT64_MAX), version_key("docs/v2", 1));
}

TEST(Keys, BehindAPrefixIsTheFirstThatDoesNotBeginSo) {
  EXPECT_EQ(behind("ab"), "ac");
  EXPECT_EQ(behind("a\xff"), "b");
  EXPECT_EQ(behind("\xff\xff"), "");
  EXPECT_LT(std::string("ab\xff\xff"), behind("ab"));
}

TEST(Keys, ExpiryLeadsToTheProvider) {
  auth::PublicKey node;
  node.bytes.fill(std::byte{7});
  const std::string expiry = expiry_key(1234, address_of("x"), node);
  EXPECT_EQ("p" + expiry.substr(9), provider_key(address_of("x"), node));
  EXPECT_LT(expiry, expiry_key(1235, {}, {}));
}

}  // namespace
}  // namespace ron::index
