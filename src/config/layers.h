// Layers of raw values: flags > environment > file > defaults. Finds which layer speaks for a key
// and reports names nobody declared; types and bounds come later (read.h).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/problem.h"
#include "config/section.h"
#include "config/value.h"

namespace ron::config {

// What the outside says, already in memory: nothing here opens a file or asks the environment.
struct Inputs {
  std::string file_name;  // for messages only
  std::string file_text;  // TOML; empty when there is no file
  std::vector<std::pair<std::string, std::string>> environment;  // all of it; others are skipped
  std::vector<std::string> flags;                                // KEY=VALUE, KEY a full path
  // What the program has decided instead of declared defaults: declared keys and their values. The
  // weakest layer.
  std::vector<std::pair<std::string, std::string>> defaults;
};

struct Layered {
  struct Found {
    Raw raw;
    Source source;
  };
  // By full key; a key no layer mentions is absent and has its default.
  std::map<std::string, Found> values;
};

// The strongest raw value of each key. Of several flags for one key the last wins. Environment
// variables count when they start with RON_ and the name of a declared section and "__"; one that
// was probably meant to is a problem, and all others belong to someone else. A file that is not
// TOML is one problem and an empty layer.
Layered collect(const Schema& schema, const Inputs& inputs, Problems& problems);

}  // namespace ron::config
