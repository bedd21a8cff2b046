#include "runtime/meter.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ron::runtime {
namespace {

bool is_printable(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string_view bounded_value(const LabelDecl& label, std::string_view value) noexcept {
  if (value.empty()) return value;
  if (!label.allowed.empty() && std::ranges::find(label.allowed, value) == label.allowed.end()) {
    return kOtherLabel;
  }
  return value.size() <= kLabelValueBytes && is_printable(value) ? value : kOtherLabel;
}

bool same_declaration(const MetricDecl& a, const MetricDecl& b) noexcept {
  if (&a == &b) return true;
  return a.name == b.name && a.kind == b.kind && a.unit == b.unit &&
         std::ranges::equal(a.bounds, b.bounds) &&
         std::ranges::equal(a.labels, b.labels, {}, &LabelDecl::name, &LabelDecl::name);
}

}  // namespace

namespace detail {

std::uint32_t assign_shard() noexcept {
  static constinit std::atomic<std::uint32_t> next{0};
  shard_slot = next.fetch_add(1, std::memory_order_relaxed) % kMetricShards;
  return shard_slot;
}

}  // namespace detail

Histogram::Reading Histogram::read() const {
  Reading reading{std::vector<std::uint64_t>(bounds_.size() + 1), 0};
  for (const Shard& shard : shards_) {
    for (std::size_t i = 0; i < reading.counts.size(); ++i) {
      reading.counts[i] += shard.counts[i].load(std::memory_order_relaxed);
    }
    reading.sum += shard.sum.load(std::memory_order_relaxed);
  }
  return reading;
}

GaugeRegistration& GaugeRegistration::operator=(GaugeRegistration&& other) noexcept {
  if (this != &other) {
    reset();
    meters_ = std::exchange(other.meters_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void GaugeRegistration::reset() noexcept {
  if (Meters* meters = std::exchange(meters_, nullptr)) meters->unregister(id_);
}

Meters::Series& Meters::find_or_create(const MetricDecl& decl, MetricKind kind,
                                       LabelValues values) {
  assert(decl.kind == kind && "the declaration is of another kind");
  assert(values.size() <= decl.label_count && "more label values than labels");
  Family& family = families_.try_emplace(decl.name, Family{&decl, {}}).first->second;
  assert(same_declaration(*family.decl, decl) && "one name, two declarations");

  LabelSet labels;
  std::ranges::transform(values, decl.labels, labels.begin(), [](auto value, const auto& label) {
    return std::string(bounded_value(label, value));
  });
  auto found = family.series.find(labels);
  if (found != family.series.end()) return *found->second;

  // The last place is kept for the series that takes what no longer fits.
  if (family.series.size() + 1 >= kSeriesPerMetric) {
    std::fill_n(labels.begin(), decl.label_count, std::string(kOtherLabel));
    found = family.series.find(labels);
    if (found != family.series.end()) return *found->second;
  }
  std::unique_ptr<Series> series;
  switch (kind) {
    case MetricKind::kCounter:
      series = std::make_unique<Series>(std::in_place_type<Counter>);
      break;
    case MetricKind::kGauge:
      series = std::make_unique<Series>(std::in_place_type<GaugeSeries>);
      break;
    case MetricKind::kHistogram:
      series = std::make_unique<Series>(std::in_place_type<Histogram>, decl.bounds);
      break;
  }
  return *family.series.emplace(std::move(labels), std::move(series)).first->second;
}

Counter& Meters::counter(const MetricDecl& decl, LabelValues values) {
  const std::lock_guard lock(mutex_);
  return std::get<Counter>(find_or_create(decl, MetricKind::kCounter, values).meter);
}

Gauge& Meters::gauge(const MetricDecl& decl, LabelValues values) {
  const std::lock_guard lock(mutex_);
  auto& series = std::get<GaugeSeries>(find_or_create(decl, MetricKind::kGauge, values).meter);
  series.given_out = true;
  return series.gauge;
}

Histogram& Meters::histogram(const MetricDecl& decl, LabelValues values) {
  const std::lock_guard lock(mutex_);
  return std::get<Histogram>(find_or_create(decl, MetricKind::kHistogram, values).meter);
}

GaugeRegistration Meters::gauge_fn(const MetricDecl& decl, LabelValues values,
                                   GaugeFunction function) {
  assert(function && "a callback gauge needs a callback");
  const std::lock_guard lock(mutex_);
  auto& series = std::get<GaugeSeries>(find_or_create(decl, MetricKind::kGauge, values).meter);
  const std::uint64_t id = next_callback_id_++;
  series.callbacks.push_back({id, std::move(function)});
  return {this, id};
}

GaugeRegistration Meters::gauge_levels_fn(const MetricDecl& decl, LevelsFunction function) {
  assert(decl.kind == MetricKind::kGauge && decl.label_count == 1);
  const std::lock_guard lock(mutex_);
  Family& family = families_.try_emplace(decl.name, Family{&decl, {}}).first->second;
  assert(!family.levels && "one source of levels for a metric");
  family.levels = std::move(function);
  family.levels_id = next_callback_id_++;
  return {this, family.levels_id};
}

void Meters::read_levels(const Family& family, std::vector<SeriesReading>& out) {
  std::map<std::string, std::int64_t, std::less<>> sums;
  for (const auto& [value, level] : family.levels()) {
    const std::string_view label = bounded_value(family.decl->labels[0], value);
    // The last place is kept for what no longer fits.
    const bool fits = sums.contains(label) || sums.size() + 1 < kSeriesPerMetric;
    sums[std::string(fits ? label : kOtherLabel)] += level;
  }
  for (const auto& [value, level] : sums) {
    SeriesReading& reading = out.emplace_back();
    reading.labels[0] = value;
    reading.level = level;
  }
}

void Meters::unregister(std::uint64_t id) noexcept {
  // Destroyed after the lock: what they captured may be anything.
  GaugeFunction dropped;
  LevelsFunction dropped_levels;
  const std::lock_guard lock(mutex_);
  for (auto& [name, family] : families_) {
    if (family.decl->kind != MetricKind::kGauge) continue;
    if (family.levels_id == id) {
      dropped_levels = std::exchange(family.levels, {});
      family.levels_id = 0;
      return;
    }
    for (auto it = family.series.begin(); it != family.series.end(); ++it) {
      auto& series = std::get<GaugeSeries>(it->second->meter);
      const auto callback = std::ranges::find(series.callbacks, id, &Callback::id);
      if (callback == series.callbacks.end()) continue;
      dropped = std::move(callback->function);
      series.callbacks.erase(callback);
      if (series.callbacks.empty() && !series.given_out) family.series.erase(it);
      return;
    }
  }
}

std::vector<FamilyReading> Meters::collect() const {
  const std::lock_guard lock(mutex_);
  std::vector<FamilyReading> families;
  families.reserve(families_.size());
  for (const auto& [name, family] : families_) {
    FamilyReading& read = families.emplace_back(FamilyReading{family.decl, {}});
    for (const auto& [labels, series] : family.series) {
      SeriesReading& reading = read.series.emplace_back();
      reading.labels = labels;
      if (const auto* counter = std::get_if<Counter>(&series->meter)) {
        reading.count = counter->value();
      } else if (const auto* gauge = std::get_if<GaugeSeries>(&series->meter)) {
        reading.level = gauge->gauge.value();
        for (const Callback& callback : gauge->callbacks) reading.level += callback.function();
      } else {
        reading.histogram = std::get<Histogram>(series->meter).read();
      }
    }
    if (family.levels) read_levels(family, read.series);
  }
  return families;
}

}  // namespace ron::runtime
