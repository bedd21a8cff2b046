#include "runtime/meter.h"

#include <algorithm>
#include <limits>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "runtime/metric_names.h"

namespace ron::runtime {
namespace {

constexpr MetricDecl kHits = declare_counter("hits_total", "Hits.", {"kind"});
constexpr std::array<std::string_view, 2> kColours = {"red", "green"};
constexpr MetricDecl kPaint =
    declare_counter("paint_total", "Paint.", {{"colour", kColours}, {"shop"}});
constexpr MetricDecl kDepth = declare_gauge("depth", "Depth.", {"queue"});
constexpr std::array<std::uint64_t, 3> kBounds = {10, 100, 1000};
constexpr MetricDecl kSize = declare_histogram("size_bytes", "Size.", MetricUnit::kBytes, kBounds);

std::vector<SeriesReading> series_of(const Meters& meters, std::string_view name) {
  for (FamilyReading& family : meters.collect()) {
    if (family.decl->name == name) return family.series;
  }
  return {};
}

TEST(Counter, SumsWhatAllThreadsAdded) {
  constexpr std::size_t kThreads = kMetricShards + 3;  // some must share a shard
  constexpr std::uint64_t kAdds = 20'000;
  Counter counter;
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < kAdds; ++i) counter.add();
    });
  }
  std::uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = counter.value();
    EXPECT_GE(now, last);
    last = now;
  }
  threads.clear();
  EXPECT_EQ(counter.value(), kThreads * kAdds);
}

TEST(Gauge, SetsAndAdds) {
  Gauge gauge;
  gauge.set(5);
  gauge.add(-7);
  EXPECT_EQ(gauge.value(), -2);
}

TEST(Histogram, BoundsAreInclusive) {
  Histogram histogram(kBounds);
  for (const std::uint64_t value : {0, 10, 11, 100, 1000, 1001}) histogram.observe(value);
  histogram.observe(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(histogram.read().counts, (std::vector<std::uint64_t>{2, 2, 1, 2}));
}

TEST(Histogram, NegativeDurationsCountAsZero) {
  Histogram histogram(kBounds);
  histogram.observe(std::chrono::nanoseconds(-5));
  histogram.observe(std::chrono::nanoseconds(50));
  const Histogram::Reading reading = histogram.read();
  EXPECT_EQ(reading.counts, (std::vector<std::uint64_t>{1, 1, 0, 0}));
  EXPECT_EQ(reading.sum, 50U);
}

TEST(Histogram, AgreesWithASearchThroughTheBounds) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& values) {
    Histogram histogram(kBounds);
    std::vector<std::uint64_t> counts(kBounds.size() + 1);
    std::uint64_t sum = 0;
    for (const std::uint64_t value : values) {
      histogram.observe(value);
      ++counts[static_cast<std::size_t>(std::ranges::lower_bound(kBounds, value) -
                                        kBounds.begin())];
      sum += value;
    }
    RC_ASSERT(histogram.read().counts == counts);
    RC_ASSERT(histogram.read().sum == sum);
  }));
}

TEST(Meters, SameLabelsGiveTheSameSeries) {
  Meters meters("svc-test");
  Counter& first = meters.counter(kHits, {"get"});
  for (int i = 0; i < 20; ++i) meters.counter(kHits, {std::to_string(i)}).add();
  EXPECT_EQ(&meters.counter(kHits, {"get"}), &first);
  EXPECT_NE(&meters.counter(kHits, {"put"}), &first);
  EXPECT_EQ(meters.service(), "svc-test");
}

TEST(Meters, SeriesAreCappedAndTheRestIsCountedAsOther) {
  Meters meters("svc-test");
  for (int i = 0; i < 1000; ++i) meters.counter(kHits, {std::to_string(i)}).add();
  const auto series = series_of(meters, "hits_total");
  EXPECT_EQ(series.size(), kSeriesPerMetric);
  std::uint64_t total = 0;
  std::uint64_t other = 0;
  for (const SeriesReading& one : series) {
    total += one.count;
    if (one.labels[0] == kOtherLabel) other += one.count;
  }
  EXPECT_EQ(total, 1000U);
  EXPECT_EQ(other, 1000U - (kSeriesPerMetric - 1));
}

TEST(Meters, TheCapHoldsForEveryMixOfLabels) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::string, std::uint16_t>>& labels) {
    Meters meters("svc-test");
    for (const auto& [colour, shop] : labels) {
      meters.counter(kPaint, {colour, std::to_string(shop)}).add();
      meters.counter(kPaint, {shop % 2 == 0 ? "red" : "green", std::to_string(shop)}).add();
      meters.counter(kPaint, {"red", colour}).add();
    }
    std::uint64_t total = 0;
    const auto series = series_of(meters, "paint_total");
    for (const SeriesReading& one : series) total += one.count;
    RC_ASSERT(series.size() <= kSeriesPerMetric);
    RC_ASSERT(total == 3 * labels.size());
  }));
}

TEST(Meters, ValuesOutsideTheDeclaredSetBecomeOther) {
  Meters meters("svc-test");
  EXPECT_EQ(&meters.counter(kPaint, {"blue", "a"}), &meters.counter(kPaint, {"mauve", "a"}));
  EXPECT_NE(&meters.counter(kPaint, {"red", "a"}), &meters.counter(kPaint, {"blue", "a"}));
}

TEST(Meters, UnprintableOrLongValuesBecomeOther) {
  Meters meters("svc-test");
  Counter& other = meters.counter(kHits, {"other"});
  EXPECT_EQ(&meters.counter(kHits, {"a\nb"}), &other);
  EXPECT_EQ(&meters.counter(kHits, {"\xff"}), &other);
  EXPECT_EQ(&meters.counter(kHits, {std::string(kLabelValueBytes + 1, 'a')}), &other);
  EXPECT_NE(&meters.counter(kHits, {std::string(kLabelValueBytes, 'a')}), &other);
}

TEST(Meters, TrailingLabelsMayBeLeftOut) {
  Meters meters("svc-test");
  EXPECT_EQ(&meters.counter(kPaint, {"red"}), &meters.counter(kPaint, {"red", ""}));
  EXPECT_EQ(&meters.counter(kPaint), &meters.counter(kPaint, {"", ""}));
}

TEST(Meters, CallbackGaugesOfOneSeriesAddUp) {
  Meters meters("svc-test");
  const auto first = meters.gauge_fn(kDepth, {"work"}, [] { return 3; });
  const auto second = meters.gauge_fn(kDepth, {"work"}, [] { return 4; });
  const auto series = series_of(meters, "depth");
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].level, 7);
}

TEST(Meters, CallbackGaugeLeavesWithItsRegistration) {
  Meters meters("svc-test");
  {
    GaugeRegistration moved;
    {
      GaugeRegistration registration = meters.gauge_fn(kDepth, {"work"}, [] { return 3; });
      moved = std::move(registration);
    }
    EXPECT_EQ(series_of(meters, "depth").size(), 1U);
  }
  EXPECT_TRUE(series_of(meters, "depth").empty());
}

TEST(Meters, GaugeGivenOutOutlivesItsCallbacks) {
  Meters meters("svc-test");
  Gauge& gauge = meters.gauge(kDepth, {"work"});
  auto registration = meters.gauge_fn(kDepth, {"work"}, [] { return 3; });
  gauge.set(1);
  EXPECT_EQ(series_of(meters, "depth").at(0).level, 4);
  registration.reset();
  EXPECT_EQ(series_of(meters, "depth").at(0).level, 1);
}

TEST(Meters, CallbackNeverRunsAfterItsRegistrationEnded) {
  Meters meters("svc-test");
  std::jthread collector([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)meters.collect();
  });
  for (int i = 0; i < 500; ++i) {
    // Freed as soon as the registration is gone: a late call would read freed memory.
    auto level = std::make_unique<std::int64_t>(i);
    const auto registration = meters.gauge_fn(kDepth, {"work"}, [p = level.get()] { return *p; });
  }
  collector.request_stop();
  collector.join();
  EXPECT_TRUE(series_of(meters, "depth").empty());
}

TEST(Meters, ManyThreadsMayLookUpAndCount) {
  Meters meters("svc-test");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        meters.counter(kHits, {std::to_string(i % 100)}).add();
        meters.histogram(kSize).observe(static_cast<std::uint64_t>(i));
      }
    });
  }
  threads.clear();
  std::uint64_t total = 0;
  for (const SeriesReading& one : series_of(meters, "hits_total")) total += one.count;
  EXPECT_EQ(total, 2000U);
  EXPECT_EQ(series_of(meters, "size_bytes").at(0).histogram.counts,
            (std::vector<std::uint64_t>{44, 360, 1596, 0}));
}

TEST(MetricNames, AreUniqueAndHelpIsASentence) {
  std::set<std::string_view> names;
  for (const MetricDecl* decl : metrics::kShared) {
    EXPECT_TRUE(names.insert(decl->name).second) << decl->name;
    EXPECT_TRUE(decl->help.ends_with('.')) << decl->name;
  }
}

TEST(Meters, LevelsComeAndGoWithTheirValues) {
  Meters meters("test");
  Meters::Levels levels = {{"a", 1}, {"b", 2}};
  {
    const auto registration = meters.gauge_levels_fn(kDepth, [&levels] { return levels; });
    const auto both = series_of(meters, "depth");
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[1].labels[0], "b");
    EXPECT_EQ(both[1].level, 2);
    levels = {{"c", 3}};
    ASSERT_EQ(series_of(meters, "depth").size(), 1U);
    EXPECT_EQ(series_of(meters, "depth")[0].labels[0], "c");
  }
  EXPECT_TRUE(series_of(meters, "depth").empty());
}

TEST(Meters, LevelsBeyondTheBoundAddUp) {
  Meters meters("test");
  const auto registration = meters.gauge_levels_fn(kDepth, [] {
    Meters::Levels levels = {{"not\nprintable", 1}};
    for (int i = 0; i < 1000; ++i) levels.emplace_back(std::to_string(i), 1);
    return levels;
  });
  std::int64_t sum = 0;
  const auto all = series_of(meters, "depth");
  EXPECT_LE(all.size(), kSeriesPerMetric);
  EXPECT_GE(all.size(), kSeriesPerMetric - 1);
  for (const SeriesReading& series : all) sum += series.level;
  EXPECT_EQ(sum, 1001);
}

}  // namespace
}  // namespace ron::runtime
