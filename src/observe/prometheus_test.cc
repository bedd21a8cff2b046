#include "observe/prometheus.h"

#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/wait.h>

#include "runtime/metric_names.h"

namespace ron::observe {
namespace {

using runtime::Meters;
using runtime::MetricDecl;
using runtime::MetricKind;
using runtime::MetricUnit;

constexpr MetricDecl kHits = runtime::declare_counter("hits_total", "Hits.", {"kind", "from"});
constexpr MetricDecl kLevel = runtime::declare_gauge("level", "A \\ and a\nnew line.");
constexpr std::array<std::uint64_t, 3> kWaitBounds = {5'000'000, 1'000'000'000, 2'500'000'001};
constexpr MetricDecl kWait =
    runtime::declare_histogram("wait_seconds", "Wait.", MetricUnit::kSeconds, kWaitBounds);
constexpr std::array<std::uint64_t, 2> kSizeBounds = {1024, 65536};
constexpr MetricDecl kSize =
    runtime::declare_histogram("size_bytes", "Size.", MetricUnit::kBytes, kSizeBounds, {"kind"});

std::string exposed(std::initializer_list<const Meters*> services) {
  const std::vector<const Meters*> list(services);
  std::string out;
  append_prometheus(out, list);
  return out;
}

// promtool's verdict: 0 when it has nothing to say, 1 on a parse error, 3 on a lint problem. What
// it says goes to the test's output.
int promtool(const std::string& text) {
  std::FILE* pipe = popen("promtool check metrics 2>&1", "w");
  if (pipe == nullptr) return -1;
  const bool written = std::fwrite(text.data(), 1, text.size(), pipe) == text.size();
  const int status = pclose(pipe);
  return written && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void touch(Meters& meters, const MetricDecl& decl) {
  const auto value = [&](std::size_t i) {
    return i < decl.label_count ? std::string_view("work") : std::string_view();
  };
  const auto with_labels = [&](auto use) {
    switch (decl.label_count) {
      case 0:
        return use(Meters::LabelValues{});
      case 1:
        return use(Meters::LabelValues{value(0)});
      default:
        return use(Meters::LabelValues{value(0), value(1)});
    }
  };
  with_labels([&](Meters::LabelValues values) {
    switch (decl.kind) {
      case MetricKind::kCounter:
        return meters.counter(decl, values).add(3);
      case MetricKind::kGauge:
        return meters.gauge(decl, values).set(-2);
      case MetricKind::kHistogram:
        return meters.histogram(decl, values).observe(std::chrono::milliseconds(7));
    }
  });
}

TEST(Prometheus, CountersShowTheirLabels) {
  Meters meters("svc-storage");
  meters.counter(kHits, {"get", "ram"}).add(2);
  meters.counter(kHits, {"get"}).add(5);
  EXPECT_EQ(exposed({&meters}),
            "# HELP hits_total Hits.\n"
            "# TYPE hits_total counter\n"
            "hits_total{service=\"svc-storage\",kind=\"get\"} 5\n"
            "hits_total{service=\"svc-storage\",kind=\"get\",from=\"ram\"} 2\n");
}

TEST(Prometheus, HelpAndLabelValuesAreEscaped) {
  Meters meters("a\"b\\c\nd");
  meters.gauge(kLevel).set(-7);
  EXPECT_EQ(exposed({&meters}),
            "# HELP level A \\\\ and a\\nnew line.\n"
            "# TYPE level gauge\n"
            "level{service=\"a\\\"b\\\\c\\nd\"} -7\n");
}

TEST(Prometheus, HistogramsAreCumulativeAndInSeconds) {
  Meters meters("svc-storage");
  auto& wait = meters.histogram(kWait);
  wait.observe(std::chrono::milliseconds(5));
  wait.observe(std::chrono::milliseconds(6));
  wait.observe(std::chrono::seconds(3));
  EXPECT_EQ(exposed({&meters}),
            "# HELP wait_seconds Wait.\n"
            "# TYPE wait_seconds histogram\n"
            "wait_seconds_bucket{service=\"svc-storage\",le=\"0.005\"} 1\n"
            "wait_seconds_bucket{service=\"svc-storage\",le=\"1\"} 2\n"
            "wait_seconds_bucket{service=\"svc-storage\",le=\"2.500000001\"} 2\n"
            "wait_seconds_bucket{service=\"svc-storage\",le=\"+Inf\"} 3\n"
            "wait_seconds_sum{service=\"svc-storage\"} 3.011\n"
            "wait_seconds_count{service=\"svc-storage\"} 3\n");
}

TEST(Prometheus, OneFamilyPerNameAcrossServices) {
  Meters storage("svc-storage");
  Meters gateway("svc-gateway");
  storage.counter(kHits, {"get"}).add();
  storage.gauge(kLevel).set(1);
  gateway.counter(kHits, {"get"}).add(2);
  EXPECT_EQ(exposed({&storage, &gateway}),
            "# HELP hits_total Hits.\n"
            "# TYPE hits_total counter\n"
            "hits_total{service=\"svc-storage\",kind=\"get\"} 1\n"
            "hits_total{service=\"svc-gateway\",kind=\"get\"} 2\n"
            "# HELP level A \\\\ and a\\nnew line.\n"
            "# TYPE level gauge\n"
            "level{service=\"svc-storage\"} 1\n");
}

TEST(Prometheus, FamiliesWithoutSeriesAreLeftOut) {
  Meters meters("svc-storage");
  {
    const auto gone = meters.gauge_fn(kLevel, {}, [] { return 1; });
  }
  EXPECT_EQ(exposed({&meters}), "");
}

TEST(Prometheus, AppendsToWhatIsThere) {
  Meters meters("svc-storage");
  meters.gauge(kLevel).set(1);
  std::string out = "before\n";
  const std::array<const Meters*, 1> services = {&meters};
  append_prometheus(out, services);
  EXPECT_TRUE(out.starts_with("before\n# HELP level"));
}

TEST(Prometheus, PromtoolAcceptsEverySharedMetric) {
  Meters storage("svc-storage");
  Meters gateway("svc-gateway");
  for (const MetricDecl* decl : runtime::metrics::kShared) {
    touch(storage, *decl);
    touch(gateway, *decl);
  }
  touch(storage, kSize);
  storage.counter(kHits, {"quote \" slash \\"}).add();
  EXPECT_EQ(promtool(exposed({&storage, &gateway})), 0);
}

TEST(Prometheus, PromtoolWouldComplain) {
  EXPECT_EQ(promtool("hits{service=\"a\" 1\n"), 1);
  EXPECT_EQ(promtool("# HELP hits Hits.\n# TYPE hits counter\nhits 1\n"), 3);
}

TEST(Prometheus, AnyLabelValueKeepsOneSampleALine) {
  EXPECT_TRUE(rc::check([](const std::string& value) {
    Meters meters(value);
    meters.counter(kHits, {value}).add();
    const std::string out = exposed({&meters});
    RC_ASSERT(std::ranges::count(out, '\n') == 3);
    RC_ASSERT(out.ends_with("\"} 1\n"));
  }));
}

}  // namespace
}  // namespace ron::observe
