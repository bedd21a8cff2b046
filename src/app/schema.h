// Every section this program knows.
#pragma once

#include "config/section.h"
#include "observe/log_format.h"

namespace ron::app {

enum class AccessLog : std::uint8_t { Off, Json, Text };

struct LogConfig {
  observe::Level level = observe::Level::kInfo;
  observe::LogFormat format = observe::LogFormat::kJson;
  AccessLog access = AccessLog::Off;
};
const config::Section<LogConfig>& log_section();

struct RuntimeConfig {
  std::uint64_t cores = 0;  // 0: one per CPU
  bool pin = false;
};
const config::Section<RuntimeConfig>& runtime_section();

// All sections, in the order of the reference page.
const config::Schema& schema();

}  // namespace ron::app
