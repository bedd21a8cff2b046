#include "app/doctor_memory.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "base/about.h"

namespace ron::app {
namespace {

using base::about;
using Level = Finding::Level;

constexpr std::size_t kLargestNamed = 4;

std::string largest(std::vector<kit::Addend> budget) {
  std::ranges::sort(budget, std::greater{}, &kit::Addend::bytes);
  budget.resize(std::min(budget.size(), kLargestNamed));
  std::string text;
  for (const kit::Addend& addend : budget) {
    text += (text.empty() ? "" : ", ") + about(addend.bytes()) + " for " + addend.what;
  }
  return text;
}

// A service behind another one accepts no connections of its own: its listeners cost no memory.
void drop_listeners(std::vector<kit::Addend>& own, const ServiceEntry& entry,
                    const config::Config& config, std::size_t cores) {
  const auto idle = kit::listener_budget(entry.kind->name, *entry.kind->settings(config), cores);
  std::erase_if(own, [&idle](const kit::Addend& addend) {
    return std::ranges::find(idle, addend.what, &kit::Addend::what) != idle.end();
  });
}

}  // namespace

std::vector<kit::Addend> process_budget(const Selection& services, const config::Config& config,
                                        std::size_t cores) {
  const auto listens = front(services).settings(config);
  std::vector<kit::Addend> sum;
  std::vector<kit::Addend> answers;
  for (const ServiceEntry* entry : services) {
    const bool is_front = entry->kind == &front(services);
    auto own = entry->budget(config, is_front ? nullptr : listens.get(), cores);
    if (!is_front) drop_listeners(own, *entry, config, cores);
    std::vector<kit::Addend> own_answers;
    for (kit::Addend& addend : own) {
      (addend.is_of_answers ? own_answers : sum).push_back(std::move(addend));
    }
    if (kit::total_bytes(own_answers) > kit::total_bytes(answers)) answers = std::move(own_answers);
  }
  std::ranges::move(answers, std::back_inserter(sum));
  return sum;
}

void judge_memory(const std::vector<kit::Addend>& budget, std::uint64_t memory_bytes,
                  Findings& out) {
  const std::uint64_t total = kit::total_bytes(budget);
  std::string sum =
      about(total) + " if every limit is reached at once; there are " + about(memory_bytes);
  if (total > memory_bytes) {
    out.push_back({Level::Warn, "memory", std::move(sum),
                   "lower the keys of the largest parts: " + largest(budget) + "; -v lists all"});
  } else {
    out.push_back({Level::Ok, "memory", std::move(sum)});
  }
  for (const kit::Addend& addend : budget) {
    out.push_back({.level = Level::Ok,
                   .topic = "memory",
                   .text = about(addend.bytes()) + " = " + std::to_string(addend.count) + " x " +
                           about(addend.each_bytes) + "  " + addend.what,
                   .is_detail = true});
  }
}

}  // namespace ron::app
