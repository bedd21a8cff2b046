// `ron doctor`: would a start with this configuration go well on this machine?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/process.h"
#include "config/load.h"
#include "platform/posix/probe.h"

namespace ron::app {

struct Finding {
  enum class Level : std::uint8_t { Ok, Warn, Fail };
  Level level = Level::Ok;
  std::string topic;
  std::string text;
  std::string advice = {};  // what to do about it
};

// Judges the configuration against what the machine offers. Pure.
std::vector<Finding> judge(const config::Config& config, const platform::posix::Machine& machine,
                           std::size_t cores);

// What a start would find on disk: the data directory and its volumes, root keys, the deny list,
// the file of --token-out. Changes nothing.
std::vector<Finding> examine_files(const ServeOptions& options, const config::Config& config,
                                   std::int64_t now_unix_s);

// Everything: configuration, files, ports, machine. Opens and closes listeners for a moment.
std::vector<Finding> examine(const ServeOptions& options);

// One line per finding: `warn  memory  …; advice`.
std::string print(const std::vector<Finding>& findings);
bool has_failure(const std::vector<Finding>& findings) noexcept;

}  // namespace ron::app
