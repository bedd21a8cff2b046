// Finding: one thing `ron doctor` has to say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ron::app {

struct Finding {
  enum class Level : std::uint8_t { Ok, Warn, Fail };
  Level level = Level::Ok;
  std::string topic;
  std::string text;
  std::string advice = {};  // what to do about it
};
using Findings = std::vector<Finding>;

}  // namespace ron::app
