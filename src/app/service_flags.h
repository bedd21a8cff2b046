// The flags every service has, and `ron doctor`, which looks at what a start with them would meet.
// Most are overrides of configuration keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config_flags.h"
#include "base/result.h"

namespace ron::app {

// The command that runs all services in one process.
inline constexpr std::string_view kUp = "up";

struct ServiceFlags {
  ConfigFlags config;
  std::string bind;
  std::string admin;
  bool amnesia = false;
  std::string cores;
  std::string token_out;
  std::string log_format;
  std::string log_level;
  std::string uds;
  std::string data{kDefaultDataDirectory};
  std::vector<std::string> only;  // of `ron up`

  // This must outlive the parse.
  void declare(CLI::App& command);
  void declare_only(CLI::App& command);
  // What `command` is to start with them: kUp, or the name of a service. Malformed says why these
  // flags cannot be used.
  [[nodiscard]] base::Result<ServeOptions> options(std::string_view command) const;
};

}  // namespace ron::app
