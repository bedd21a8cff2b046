// Metrics: declared once at compile time, counted without locks, read whole.
//
// A metric is a constexpr MetricDecl. A Meters registry (one per service) turns a declaration and
// label values into a Counter, Gauge or Histogram whose reference stays valid as long as the
// registry; hot paths look it up once and keep the reference. Cardinality cannot explode: label
// values come from the declaration or from names in code and configuration, and past
// kSeriesPerMetric series everything else is counted under the value "other".
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ron::runtime {

inline constexpr std::size_t kMetricShards = 8;
inline constexpr std::size_t kCacheLineBytes = 64;
inline constexpr std::size_t kLabelsPerMetric = 3;
inline constexpr std::size_t kSeriesPerMetric = 64;  // the "other" series included
inline constexpr std::size_t kBucketBounds = 22;     // finite upper bounds of one histogram
inline constexpr std::size_t kLabelValueBytes = 64;
inline constexpr std::string_view kOtherLabel = "other";
// One histogram shard (bounds, the +Inf bucket and the sum) fills whole cache lines.
static_assert((kBucketBounds + 2) * sizeof(std::uint64_t) % kCacheLineBytes == 0);
static_assert(kOtherLabel.size() <= kLabelValueBytes);

enum class MetricKind : std::uint8_t { kCounter, kGauge, kHistogram };

// "counter" and so on, as Prometheus says it.
constexpr std::string_view name(MetricKind kind) noexcept {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kHistogram:
      return "histogram";
  }
  return "untyped";
}

// What a histogram's integers mean. Seconds are recorded in nanoseconds and exposed in seconds, so
// that recording needs no floating point.
enum class MetricUnit : std::uint8_t { kNone, kSeconds, kBytes };

// A label's name and, when the declaration knows them, its only values. Without a list any
// printable value is taken until the metric has kSeriesPerMetric series.
struct LabelDecl {
  std::string_view name{};
  std::span<const std::string_view> allowed{};

  consteval LabelDecl() = default;
  consteval LabelDecl(const char* label) : name(label) {}
  consteval LabelDecl(const char* label, std::span<const std::string_view> values)
      : name(label), allowed(values) {}
};

// A metric's declaration. Made only by the declare_* functions below, which refuse at compile time
// what Prometheus' conventions refuse; everything it points to has static storage.
struct MetricDecl {
  std::string_view name;
  MetricKind kind;
  MetricUnit unit;
  std::string_view help;
  std::array<LabelDecl, kLabelsPerMetric> labels;
  std::size_t label_count;
  std::span<const std::uint64_t> bounds;  // histograms: ascending, in recorded units
};

namespace detail {

consteval bool is_name(std::string_view text) {
  if (text.empty() || text.front() < 'a' || text.front() > 'z') return false;
  for (const char c : text) {
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_') return false;
  }
  return true;
}

// A throw here is a compile error that shows the sentence: these functions never run.
consteval MetricDecl declare(std::string_view name, MetricKind kind, MetricUnit unit,
                             std::string_view help, std::initializer_list<LabelDecl> labels,
                             std::span<const std::uint64_t> bounds) {
  if (!is_name(name)) throw "a metric name is lower_snake_case";
  if (help.empty()) throw "a metric needs a help text";
  if (labels.size() > kLabelsPerMetric) throw "a metric has too many labels";
  MetricDecl decl{name, kind, unit, help, {}, labels.size(), bounds};
  std::size_t i = 0;
  for (const LabelDecl& label : labels) {
    if (!is_name(label.name)) throw "a label name is lower_snake_case";
    if (label.name == "service" || label.name == "le") throw "a label name is reserved";
    if (label.allowed.size() >= kSeriesPerMetric) throw "a label allows too many values";
    decl.labels[i++] = label;
  }
  return decl;
}

// The calling thread's shard. Threads take slots in turn; more threads than shards share, which
// costs speed but never a count.
inline constinit thread_local std::uint32_t shard_slot = kMetricShards;
std::uint32_t assign_shard() noexcept;
inline std::uint32_t shard() noexcept {
  const std::uint32_t slot = shard_slot;
  if (slot < kMetricShards) [[likely]]
    return slot;
  return assign_shard();
}

}  // namespace detail

consteval MetricDecl declare_counter(std::string_view name, std::string_view help,
                                     std::initializer_list<LabelDecl> labels = {}) {
  if (!name.ends_with("_total")) throw "a counter's name ends in _total";
  return detail::declare(name, MetricKind::kCounter, MetricUnit::kNone, help, labels, {});
}

consteval MetricDecl declare_gauge(std::string_view name, std::string_view help,
                                   std::initializer_list<LabelDecl> labels = {}) {
  if (name.ends_with("_total")) throw "only a counter's name ends in _total";
  return detail::declare(name, MetricKind::kGauge, MetricUnit::kNone, help, labels, {});
}

// `bounds`: inclusive upper bounds, ascending; nanoseconds for kSeconds, bytes for kBytes.
consteval MetricDecl declare_histogram(std::string_view name, std::string_view help,
                                       MetricUnit unit, std::span<const std::uint64_t> bounds,
                                       std::initializer_list<LabelDecl> labels = {}) {
  if (unit == MetricUnit::kSeconds && !name.ends_with("_seconds")) throw "name ends in _seconds";
  if (unit == MetricUnit::kBytes && !name.ends_with("_bytes")) throw "name ends in _bytes";
  if (name.ends_with("_total") || name.ends_with("_count") || name.ends_with("_sum") ||
      name.ends_with("_bucket"))
    throw "a histogram's name must not end in _total, _count, _sum or _bucket";
  if (bounds.empty() || bounds.size() > kBucketBounds) throw "a histogram has 1 to 22 bounds";
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    if (bounds[i - 1] >= bounds[i]) throw "histogram bounds ascend";
  }
  return detail::declare(name, MetricKind::kHistogram, unit, help, labels, bounds);
}

// A count that only grows. Any thread may add or read, without locks; a read sums the shards and
// never goes back for the same reader.
class Counter {
 public:
  Counter() = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void add(std::uint64_t n = 1) noexcept {
    shards_[detail::shard()].value.fetch_add(n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const noexcept {
    std::uint64_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.value.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(kCacheLineBytes) Shard {
    std::atomic<std::uint64_t> value{0};
  };
  std::array<Shard, kMetricShards> shards_{};
};

// A level that goes up and down. Any thread may set, add or read, without locks.
class Gauge {
 public:
  Gauge() = default;
  Gauge(const Gauge&) = delete;
  Gauge& operator=(const Gauge&) = delete;

  void set(std::int64_t level) noexcept { level_.store(level, std::memory_order_relaxed); }
  void add(std::int64_t delta) noexcept { level_.fetch_add(delta, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const noexcept {
    return level_.load(std::memory_order_relaxed);
  }

 private:
  alignas(kCacheLineBytes) std::atomic<std::int64_t> level_{0};
};

// Counts per bucket and their sum, in the declaration's recorded unit. Any thread may observe or
// read, without locks. A read while others observe may miss the newest values, and its sum may
// be ahead of its counts by those; the counts themselves always add up.
class Histogram {
 public:
  struct Reading {
    std::vector<std::uint64_t> counts;  // one per bound, not cumulative, then the +Inf bucket
    std::uint64_t sum = 0;
  };

  // `bounds` must outlive the histogram; a declaration's do.
  explicit Histogram(std::span<const std::uint64_t> bounds) noexcept : bounds_(bounds) {}
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  void observe(std::uint64_t value) noexcept {
    // Counting instead of searching: no branch to mispredict, and the compiler vectorises it.
    std::size_t bucket = 0;
    for (const std::uint64_t bound : bounds_) bucket += value > bound ? 1U : 0U;
    Shard& shard = shards_[detail::shard()];
    shard.counts[bucket].fetch_add(1, std::memory_order_relaxed);
    shard.sum.fetch_add(value, std::memory_order_relaxed);
  }
  // A negative duration (a clock that was stepped) counts as zero.
  void observe(std::chrono::nanoseconds value) noexcept {
    observe(value.count() < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(value.count()));
  }
  [[nodiscard]] Reading read() const;

 private:
  struct alignas(kCacheLineBytes) Shard {
    std::array<std::atomic<std::uint64_t>, kBucketBounds + 1> counts{};
    std::atomic<std::uint64_t> sum{0};
  };
  std::span<const std::uint64_t> bounds_;
  std::array<Shard, kMetricShards> shards_{};
};

// One series as read by Meters::collect().
struct SeriesReading {
  std::array<std::string, kLabelsPerMetric> labels;  // empty: the label is absent
  std::uint64_t count = 0;                           // counters
  std::int64_t level = 0;                            // gauges
  Histogram::Reading histogram;                      // histograms
};

struct FamilyReading {
  const MetricDecl* decl;  // static storage
  std::vector<SeriesReading> series;
};

class Meters;

// Keeps a callback gauge registered; destroying it unregisters. When the destructor returns the
// callback is not running and will not run again. Move-only; must not outlive its Meters.
class [[nodiscard]] GaugeRegistration {
 public:
  GaugeRegistration() = default;
  GaugeRegistration(GaugeRegistration&& other) noexcept
      : meters_(std::exchange(other.meters_, nullptr)), id_(other.id_) {}
  GaugeRegistration& operator=(GaugeRegistration&& other) noexcept;
  ~GaugeRegistration() { reset(); }

  void reset() noexcept;

 private:
  friend class Meters;
  GaugeRegistration(Meters* meters, std::uint64_t id) : meters_(meters), id_(id) {}

  Meters* meters_ = nullptr;
  std::uint64_t id_ = 0;
};

// The metrics of one service; every series carries service="<service>".
//
// Thread-safe. Looking a series up takes a short lock and may allocate: do it at start-up or on
// rare paths and keep the reference, which lives as long as the registry. Declarations must have
// static storage. Label values are given in the declaration's order; trailing ones may be left out
// and an empty one is not exposed. A value outside the declared set, over kLabelValueBytes or not
// printable ASCII becomes "other"; so do all values once the metric has no series left. Using a
// declaration with the wrong kind is a programming error and asserts.
class Meters {
 public:
  using LabelValues = std::initializer_list<std::string_view>;
  // Called while the registry is locked: a few loads, no calls into the registry, and no lock
  // under which a GaugeRegistration is ever destroyed.
  using GaugeFunction = std::function<std::int64_t()>;

  explicit Meters(std::string service) : service_(std::move(service)) {}
  Meters(const Meters&) = delete;
  Meters& operator=(const Meters&) = delete;

  [[nodiscard]] const std::string& service() const noexcept { return service_; }

  Counter& counter(const MetricDecl& decl, LabelValues values = {});
  Gauge& gauge(const MetricDecl& decl, LabelValues values = {});
  Histogram& histogram(const MetricDecl& decl, LabelValues values = {});

  // Samples `function` on every collect(). Several callbacks of one series add up (one queue per
  // core, one number). The series disappears with its last callback unless gauge() gave it out.
  GaugeRegistration gauge_fn(const MetricDecl& decl, LabelValues values, GaugeFunction function);

  // The levels of a gauge with one label, for values that come and go: all of them at once.
  using Levels = std::vector<std::pair<std::string, std::int64_t>>;
  using LevelsFunction = std::function<Levels()>;  // called as a GaugeFunction is
  // Samples `function` on every collect(). Beyond kSeriesPerMetric series, and for values that are
  // no good, levels add up under "other". The only source of its metric.
  GaugeRegistration gauge_levels_fn(const MetricDecl& decl, LevelsFunction function);

  // Every series, families by name and series by label values.
  [[nodiscard]] std::vector<FamilyReading> collect() const;

 private:
  friend class GaugeRegistration;
  using LabelSet = std::array<std::string, kLabelsPerMetric>;

  struct Callback {
    std::uint64_t id;
    GaugeFunction function;
  };
  struct GaugeSeries {
    Gauge gauge;
    bool given_out = false;
    std::vector<Callback> callbacks;
  };
  struct Series {
    template <class T, class... Args>
    Series(std::in_place_type_t<T> type, Args&&... args)
        : meter(type, std::forward<Args>(args)...) {}
    std::variant<Counter, GaugeSeries, Histogram> meter;
  };
  struct Family {
    const MetricDecl* decl;
    std::map<LabelSet, std::unique_ptr<Series>> series;
    LevelsFunction levels{};
    std::uint64_t levels_id = 0;
  };

  Series& find_or_create(const MetricDecl& decl, MetricKind kind, LabelValues values);
  void unregister(std::uint64_t id) noexcept;
  static void read_levels(const Family& family, std::vector<SeriesReading>& out);

  const std::string service_;
  mutable std::mutex mutex_;
  std::map<std::string_view, Family> families_;
  std::uint64_t next_callback_id_ = 1;
};

}  // namespace ron::runtime
