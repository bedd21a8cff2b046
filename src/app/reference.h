// The reference pages of docs/generated, derived from declarations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/meter.h"

namespace ron::app {

struct Page {
  std::string_view name;  // `config` is docs/generated/config.md
  std::string text;
};
std::vector<Page> reference_pages();

// Every metric any part of the program declares, by name.
std::vector<const runtime::MetricDecl*> declared_metrics();

}  // namespace ron::app
