// Finding: one thing `ron doctor` has to say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/posix/probe.h"

namespace ron::app {

struct Finding {
  enum class Level : std::uint8_t { Ok, Warn, Fail };
  Level level = Level::Ok;
  std::string topic;
  std::string text;
  std::string advice = {};  // what to do about it
  bool is_detail = false;   // shown only if it is asked for
};
using Findings = std::vector<Finding>;

// Whether `who` may have `needed` descriptors open at its limits, and what to do otherwise.
inline void judge_open_files(const platform::posix::Machine& machine, std::uint64_t needed,
                             std::string_view who, std::string_view advice, Findings& out) {
  std::string text = std::to_string(machine.open_files) + " allowed, " + std::to_string(needed) +
                     " needed by " + std::string(who) + " at its limits";
  if (machine.open_files >= needed) {
    out.push_back({Finding::Level::Ok, "open files", std::move(text)});
    return;
  }
  out.push_back({Finding::Level::Warn, "open files", std::move(text),
                 std::string(advice) + ", or raise the hard limit of open files"});
}

}  // namespace ron::app
