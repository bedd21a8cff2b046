// The flags that choose a configuration, the same for every command that looks at one.
#pragma once

#include <string>
#include <vector>

#include "app/process.h"

namespace CLI {
class App;
}

namespace ron::app {

struct ConfigFlags {
  std::string file;
  std::vector<std::string> set;

  // `--config` and `--set`; this must outlive the parse.
  void declare(CLI::App& command);
  [[nodiscard]] ServeOptions options() const {
    ServeOptions out;
    out.config_file = file;
    out.flags = set;
    return out;
  }
};

}  // namespace ron::app
