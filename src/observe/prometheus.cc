#include "observe/prometheus.h"

#include <array>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <map>
#include <vector>

namespace ron::observe {
namespace {

using runtime::FamilyReading;
using runtime::MetricDecl;
using runtime::MetricKind;
using runtime::MetricUnit;
using runtime::SeriesReading;

template <class T>
void append_integer(std::string& out, T number) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

// A recorded number in the exposed unit, exactly: nanoseconds as a decimal fraction of seconds.
void append_in_unit(std::string& out, std::uint64_t recorded, MetricUnit unit) {
  if (unit != MetricUnit::kSeconds) return append_integer(out, recorded);
  constexpr std::uint64_t kNanos = 1'000'000'000;
  append_integer(out, recorded / kNanos);
  std::uint64_t rest = recorded % kNanos;
  if (rest == 0) return;
  out.push_back('.');
  for (std::uint64_t place = kNanos / 10; rest != 0; place /= 10) {
    out.push_back(static_cast<char>('0' + rest / place));
    rest %= place;
  }
}

// Both escape backslash and newline; only label values are quoted.
void append_escaped(std::string& out, std::string_view text, bool quoted) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quoted) {
      out += "\\\"";
    } else {
      out.push_back(c);
    }
  }
}

void append_label(std::string& out, std::string_view label, std::string_view value) {
  out += label;
  out += "=\"";
  append_escaped(out, value, true);
  out.push_back('"');
}

// service="…",queue="…": the labels every sample of the series has.
std::string label_text(std::string_view service, const MetricDecl& decl,
                       const SeriesReading& series) {
  std::string out;
  append_label(out, "service", service);
  for (std::size_t i = 0; i < decl.label_count; ++i) {
    if (series.labels[i].empty()) continue;
    out.push_back(',');
    append_label(out, decl.labels[i].name, series.labels[i]);
  }
  return out;
}

void begin_sample(std::string& out, std::string_view name, std::string_view suffix,
                  std::string_view labels) {
  out += name;
  out += suffix;
  out.push_back('{');
  out += labels;
}

void append_histogram(std::string& out, const MetricDecl& decl, const SeriesReading& series,
                      std::string_view labels) {
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < series.histogram.counts.size(); ++i) {
    cumulative += series.histogram.counts[i];
    begin_sample(out, decl.name, "_bucket", labels);
    out += ",le=\"";
    if (i < decl.bounds.size()) {
      append_in_unit(out, decl.bounds[i], decl.unit);
    } else {
      out += "+Inf";
    }
    out += "\"} ";
    append_integer(out, cumulative);
    out.push_back('\n');
  }
  begin_sample(out, decl.name, "_sum", labels);
  out += "} ";
  append_in_unit(out, series.histogram.sum, decl.unit);
  out.push_back('\n');
  begin_sample(out, decl.name, "_count", labels);
  out += "} ";
  append_integer(out, cumulative);
  out.push_back('\n');
}

void append_series(std::string& out, std::string_view service, const MetricDecl& decl,
                   const SeriesReading& series) {
  const std::string labels = label_text(service, decl, series);
  if (decl.kind == MetricKind::kHistogram) return append_histogram(out, decl, series, labels);
  begin_sample(out, decl.name, "", labels);
  out += "} ";
  if (decl.kind == MetricKind::kCounter) {
    append_integer(out, series.count);
  } else {
    append_integer(out, series.level);
  }
  out.push_back('\n');
}

void append_head(std::string& out, const MetricDecl& decl) {
  out += "# HELP ";
  out += decl.name;
  out.push_back(' ');
  append_escaped(out, decl.help, false);
  out += "\n# TYPE ";
  out += decl.name;
  out.push_back(' ');
  out += runtime::name(decl.kind);
  out.push_back('\n');
}

struct ServiceFamily {
  std::string_view service;
  FamilyReading family;
};

}  // namespace

void append_prometheus(std::string& out, std::span<const runtime::Meters* const> services) {
  std::map<std::string_view, std::vector<ServiceFamily>> by_name;
  for (const runtime::Meters* meters : services) {
    for (FamilyReading& family : meters->collect()) {
      if (family.series.empty()) continue;
      const std::string_view metric = family.decl->name;
      by_name[metric].push_back({meters->service(), std::move(family)});
    }
  }
  for (const auto& [metric, families] : by_name) {
    const MetricDecl& first = *families.front().family.decl;
    append_head(out, first);
    for (const auto& [service, family] : families) {
      assert(family.decl->kind == first.kind && "one name, two kinds");
      if (family.decl->kind != first.kind) continue;
      for (const SeriesReading& series : family.series) {
        append_series(out, service, *family.decl, series);
      }
    }
  }
}

}  // namespace ron::observe
