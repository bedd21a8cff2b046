// Arbitrary text as a configuration file, with lines after a NUL byte as flags. Loading must end in
// a configuration or in at least one problem; what it shows must be clean and read back unchanged.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/print.h"
#include "config/reload.h"
#include "config/render.h"
#include "config/test_schema.h"

namespace {

using namespace ron::config;

void require(bool holds) {
  if (!holds) std::abort();
}

Inputs inputs_from(std::string_view data) {
  const std::size_t cut = std::min(data.find('\0'), data.size());
  Inputs inputs = ron::config::testing::with_file(std::string(data.substr(0, cut)));
  data.remove_prefix(std::min(cut + 1, data.size()));
  while (!data.empty()) {
    const std::size_t end = std::min(data.find('\n'), data.size());
    const std::string line(data.substr(0, end));
    const std::size_t equals = line.find('=');
    if (line.starts_with("RON_") && equals != std::string::npos) {
      inputs.environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    } else {
      inputs.flags.push_back(line);
    }
    data.remove_prefix(std::min(end + 1, data.size()));
  }
  return inputs;
}

void check_problems(const Problems& problems) {
  require(!problems.empty());
  for (const Problem& problem : problems.list()) {
    require(!problem.what.empty());
    for (const char c : problem.text()) require(static_cast<unsigned char>(c) >= 0x20);
  }
}

// Values from flags need not be UTF-8, which TOML requires, so only files must read back.
void check_round_trip(const Schema& schema, const Config& config) {
  Inputs again;
  for (const Entry& entry : config.entries()) {
    again.file_text += entry.key + " = " + toml_text(*entry.decl, entry.value) + "\n";
  }
  if (again.file_text.size() > 512 * 1024) return;
  const Outcome outcome = load(schema, again);
  require(outcome.has_value());
  require(diff(config, **outcome).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Schema schema = ron::config::testing::sample_schema();
  const Inputs inputs = inputs_from({reinterpret_cast<const char*>(data), size});
  const Outcome outcome = load(schema, inputs);
  if (!outcome) {
    check_problems(outcome.error());
    return 0;
  }
  const Config& config = **outcome;
  require(config.get(ron::config::testing::storage_section())->cores >= 1);
  require(!show(config).empty() && !show_json(config).empty());
  if (inputs.flags.empty() && inputs.environment.empty()) check_round_trip(schema, config);
  return 0;
}
