// The reference pages of docs/generated, derived from declarations.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "runtime/meter.h"
#include "services/kit/service_kind.h"

namespace ron::app {

struct Page {
  std::string_view name;  // `config` is docs/generated/config.md
  std::string text;
};
// Of a program with these services and this schema.
std::vector<Page> reference_pages(std::span<const kit::ServiceKind* const> services,
                                  const config::Schema& schema);

// Every metric any part of such a program declares, by name.
std::vector<const runtime::MetricDecl*> declared_metrics(
    std::span<const kit::ServiceKind* const> services);

// Those of `ron`.
std::vector<Page> reference_pages();
std::vector<const runtime::MetricDecl*> declared_metrics();

}  // namespace ron::app
