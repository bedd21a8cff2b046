// Journal: what happened in one seed, in words and in numbers, and the first thing that was wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "platform/sim/world.h"

namespace ron::sim {

// Counts of one seed, or the sums of many.
struct Tally {
  std::map<std::string, std::uint64_t> outcomes;  // of requests
  std::map<std::string, std::uint64_t> faults;    // injected, by kind
  std::map<std::string, std::uint64_t> events;    // starts, stops, reloads, audits
  std::uint64_t operations = 0;                   // in the histories checked
  std::uint64_t acknowledged = 0;
  std::uint64_t acknowledged_and_read = 0;
  std::uint64_t steps = 0;
  base::Duration virtual_time{};

  void add(const Tally& other);
};

// Lives as long as its world. Notes are part of the seed's fingerprint, so two runs that differ in
// what clients saw differ even if the network did the same.
class Journal {
 public:
  using Print = std::function<void(std::string_view line)>;

  explicit Journal(const platform::sim::World& world, Print print = {})
      : world_(world), print_(std::move(print)) {}

  void note(std::string_view who, std::string_view what);
  // Ends the seed; the first one is the verdict.
  void violation(std::string_view who, std::string_view what);

  [[nodiscard]] bool failed() const noexcept { return verdict_.has_value(); }
  [[nodiscard]] const std::optional<std::string>& verdict() const noexcept { return verdict_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] bool printing() const noexcept { return static_cast<bool>(print_); }

  Tally tally;

 private:
  const platform::sim::World& world_;
  Print print_;
  std::optional<std::string> verdict_;
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

// `1.234567s`: virtual time as people read it.
std::string print_time(platform::TimePoint at);

}  // namespace ron::sim
