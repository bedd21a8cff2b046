#include "services/storage/quota.h"

#include <gtest/gtest.h>

namespace ron::storage {
namespace {

QuotaConfig limits(std::uint64_t bytes, std::uint64_t objects) {
  QuotaConfig config;
  config.bytes.bytes = bytes;
  config.objects = objects;
  return config;
}

std::string detail(const base::Error& error, std::string_view key) {
  for (const auto& [name, value] : error.details) {
    if (name == key) return value;
  }
  return "";
}

TEST(Quotas, WithoutLimitsNothingIsAsked) {
  Quotas quotas(limits(0, 0));
  EXPECT_FALSE(quotas.any());
  EXPECT_TRUE(quotas.reserve("a", {UINT64_MAX, 1}, {UINT64_MAX, 1}));
}

TEST(Quotas, WhatIsStoredAndWhatIsReservedCountTogether) {
  Quotas quotas(limits(100, 0));
  auto held = quotas.reserve("a", {50, 1}, {30, 1});
  ASSERT_TRUE(held);
  const auto refused = quotas.reserve("a", {21, 1}, {30, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::Quota);
  EXPECT_EQ(detail(refused.error(), "used"), "80");
  EXPECT_EQ(detail(refused.error(), "limit"), "100");
  EXPECT_EQ(detail(refused.error(), "asked"), "21");
  EXPECT_TRUE(quotas.reserve("a", {20, 1}, {30, 1}));
  EXPECT_TRUE(quotas.reserve("b", {100, 1}, {0, 0}));
  {
    const auto gone = std::move(*held);
  }
  EXPECT_TRUE(quotas.reserve("a", {70, 1}, {30, 1}));
}

TEST(Quotas, ATenantsOwnRowReplacesTheDefault) {
  QuotaConfig config = limits(100, 1);
  config.tenants.push_back({.name = "large", .bytes = {1000}, .objects = 0});
  Quotas quotas(config);
  EXPECT_TRUE(quotas.reserve("large", {1000, 50}, {0, 0}));
  EXPECT_FALSE(quotas.reserve("large", {1001, 1}, {0, 0}));
  const auto refused = quotas.reserve("small", {1, 1}, {0, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(detail(refused.error(), "what"), "objects");
}

TEST(Quotas, AReloadTakesEffectAtOnce) {
  Quotas quotas(limits(10, 0));
  EXPECT_FALSE(quotas.reserve("", {11, 1}, {0, 0}));
  quotas.apply(limits(20, 0));
  EXPECT_TRUE(quotas.reserve("", {11, 1}, {0, 0}));
  EXPECT_FALSE(quotas.reserve("", {UINT64_MAX, 1}, {19, 0}));
}

}  // namespace
}  // namespace ron::storage
