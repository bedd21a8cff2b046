#include "services/gateway/tenant_id.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::gateway {
namespace {

std::string shown_name(std::string_view name) { return TenantId::named(name).shown(); }
std::string shown_address(std::string_view text) {
  const AddressText address(text);
  return TenantId::at(address).shown();
}

TEST(TenantId, NamesAndAddressesAreShownAsTheyAre) {
  EXPECT_EQ(shown_name("acme"), "acme");
  EXPECT_EQ(shown_name("10.0.0"), "10.0.0");
  EXPECT_EQ(shown_name("v1.2.3.4"), "v1.2.3.4");
  EXPECT_EQ(shown_address("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(shown_address("2001:db8:1:2::"), "2001:db8:1:2::");
  EXPECT_EQ(shown_address("unix"), "unix");
}

TEST(TenantId, ANameThatReadsAsAnAddressIsMarked) {
  EXPECT_EQ(shown_name("192.0.2.7"), "name:192.0.2.7");
  EXPECT_EQ(shown_name("unix"), "name:unix");
}

TEST(TenantId, KindsAreNeverEqual) {
  const AddressText address("192.0.2.7");
  EXPECT_FALSE(TenantId::at(address) == TenantId::named("192.0.2.7"));
  EXPECT_TRUE(TenantId::named("acme") == TenantId::named(std::string("acme")));
  EXPECT_NE(TenantId::at(address).hash(), TenantId::named("192.0.2.7").hash());
}

// Every name a capability can carry, every address a client can have.
TEST(TenantId, WhatIsShownTellsTenantsApart) {
  EXPECT_TRUE(rc::check("no name is shown as an address", [] {
    const auto part = [] { return std::to_string(*rc::gen::inRange(0, 300)); };
    const std::string dotted = part() + "." + part() + "." + part() + "." + part();
    const auto letter = rc::gen::elementOf(std::string("0123456789.-_unix"));
    const std::string any =
        *rc::gen::nonEmpty(rc::gen::resize(12, rc::gen::container<std::string>(letter)));
    for (const std::string& name : {dotted, any}) {
      AddressBlock::Ip ip{};
      for (std::uint8_t& byte : ip) byte = *rc::gen::arbitrary<std::uint8_t>();
      if (const auto block = AddressBlock::parse(name)) {
        RC_ASSERT(shown_name(name) != name);
      } else if (name != "unix") {
        RC_ASSERT(shown_name(name) == name);
      }
      RC_ASSERT(shown_name(name) != shown_address(AddressText(ip).view()));
      RC_ASSERT(shown_name(name) != shown_address("unix"));
    }
  }));
}

}  // namespace
}  // namespace ron::gateway
