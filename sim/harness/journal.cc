#include "sim/harness/journal.h"

namespace ron::sim {
namespace {

void sum(std::map<std::string, std::uint64_t>& into,
         const std::map<std::string, std::uint64_t>& from) {
  for (const auto& [name, count] : from) into[name] += count;
}

}  // namespace

void Tally::add(const Tally& other) {
  sum(outcomes, other.outcomes);
  sum(faults, other.faults);
  sum(events, other.events);
  operations += other.operations;
  acknowledged += other.acknowledged;
  acknowledged_and_read += other.acknowledged_and_read;
  steps += other.steps;
  virtual_time += other.virtual_time;
}

std::string print_time(platform::TimePoint at) {
  const std::int64_t us = at.time_since_epoch().count() / 1000;
  const std::string fraction = std::to_string(us % 1'000'000);
  return std::to_string(us / 1'000'000) + "." + std::string(6 - fraction.size(), '0') + fraction +
         "s";
}

void Journal::note(std::string_view who, std::string_view what) {
  constexpr std::uint64_t kPrime = 0x100000001B3ULL;
  for (const std::string_view text : {who, what}) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
  }
  hash_ = (hash_ ^ static_cast<std::uint64_t>(world_.now().time_since_epoch().count())) * kPrime;
  if (!print_) return;
  print_(print_time(world_.now()) + " " + std::string(who) + ": " + std::string(what));
}

void Journal::violation(std::string_view who, std::string_view what) {
  note(who, what);
  if (verdict_) return;
  verdict_ = "at " + print_time(world_.now()) + ", " + std::string(who) + ": " + std::string(what);
}

}  // namespace ron::sim
