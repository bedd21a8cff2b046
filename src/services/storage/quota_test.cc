#include "services/storage/quota.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace ron::storage {
namespace {

QuotaConfig limits(std::uint64_t bytes, std::uint64_t objects) {
  QuotaConfig config;
  config.bytes.bytes = bytes;
  config.objects = objects;
  return config;
}

Quotas::Stored stored(volume::Usage usage) {
  return [usage](std::string_view) { return usage; };
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
  EXPECT_TRUE(quotas.reserve("a", {UINT64_MAX, 1}, stored({UINT64_MAX, 1})));
}

TEST(Quotas, WhatIsStoredAndWhatIsReservedCountTogether) {
  Quotas quotas(limits(100, 0));
  auto held = quotas.reserve("a", {50, 1}, stored({30, 1}));
  ASSERT_TRUE(held);
  const auto refused = quotas.reserve("a", {21, 1}, stored({30, 1}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::Quota);
  EXPECT_EQ(detail(refused.error(), "used"), "80");
  EXPECT_EQ(detail(refused.error(), "limit"), "100");
  EXPECT_EQ(detail(refused.error(), "asked"), "21");
  EXPECT_TRUE(quotas.reserve("a", {20, 1}, stored({30, 1})));
  EXPECT_TRUE(quotas.reserve("b", {100, 1}, stored({0, 0})));
  {
    const auto gone = std::move(*held);
  }
  EXPECT_TRUE(quotas.reserve("a", {70, 1}, stored({30, 1})));
}

TEST(Quotas, ATenantsOwnRowReplacesTheDefault) {
  QuotaConfig config = limits(100, 1);
  config.tenants.push_back({.name = "large", .bytes = {1000}, .objects = 0});
  Quotas quotas(config);
  EXPECT_TRUE(quotas.reserve("large", {1000, 50}, stored({0, 0})));
  EXPECT_FALSE(quotas.reserve("large", {1001, 1}, stored({0, 0})));
  const auto refused = quotas.reserve("small", {1, 1}, stored({0, 1}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(detail(refused.error(), "what"), "objects");
}

TEST(Quotas, AReloadTakesEffectAtOnce) {
  Quotas quotas(limits(10, 0));
  EXPECT_FALSE(quotas.reserve("", {11, 1}, stored({0, 0})));
  quotas.apply(limits(20, 0));
  EXPECT_TRUE(quotas.reserve("", {11, 1}, stored({0, 0})));
  EXPECT_FALSE(quotas.reserve("", {UINT64_MAX, 1}, stored({19, 0})));
}

// A write that ends between the look at what is stored and the check would count for neither.
TEST(Quotas, WhatIsStoredIsAskedForTogetherWithWhatIsReserved) {
  Quotas quotas(limits(100, 0));
  auto write = quotas.reserve("a", {60, 1}, stored({}));
  ASSERT_TRUE(write);
  std::atomic<bool> looked = false;
  std::atomic<bool> ended = false;
  const std::jthread other([&write, &looked, &ended] {
    looked.wait(false);
    {
      const auto gone = std::move(*write);  // it is stored by now
    }
    ended = true;
  });
  const auto refused = quotas.reserve("a", {60, 1}, [&](std::string_view) {
    looked = true;
    looked.notify_one();
    for (int i = 0; i < 100'000 && !ended; ++i) std::this_thread::yield();
    return volume::Usage{};  // as it was before the other write ended
  });
  EXPECT_FALSE(refused) << "two that do not fit together were both let in";
}

TEST(Quotas, ATenantsStandingSaysWhatItMayAndWhatIsOnItsWay) {
  Quotas quotas(limits(100, 7));
  const auto held = quotas.reserve("a", {50, 1}, stored({}));
  EXPECT_EQ(quotas.standing("a").limit, (volume::Usage{100, 7}));
  EXPECT_EQ(quotas.standing("a").reserved, (volume::Usage{50, 1}));
  EXPECT_EQ(quotas.standing("b").reserved, volume::Usage{});
}

}  // namespace
}  // namespace ron::storage
