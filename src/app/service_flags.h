// The flags every service has, and `ron doctor`, which looks at what a start with them would meet.
// Most are overrides of configuration keys.
#pragma once

#include <string>

#include "app/config_flags.h"

namespace ron::app {

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

  // This must outlive the parse.
  void declare(CLI::App& command);
  // Why these flags cannot be used; empty when they can.
  [[nodiscard]] std::string problem() const;
  // `section` is the service's part of the configuration.
  [[nodiscard]] ServeOptions options(const std::string& section) const;
};

}  // namespace ron::app
