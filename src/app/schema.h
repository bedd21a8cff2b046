// Every section this program knows.
#pragma once

#include "app/services.h"
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
// Those of a process with these services. The sections of the others are accepted unread: one file
// may be for several processes.
config::Schema schema_of(const Selection& services);

}  // namespace ron::app
