#include "app/reference.h"

#include <algorithm>

#include "app/schema.h"
#include "base/error.h"
#include "config/render.h"
#include "http/client_metrics.h"
#include "http/metric_names.h"
#include "runtime/metric_names.h"
#include "runtime/topology.h"
#include "services/storage/metric_names.h"
#include "services/storage/wires.h"

namespace ron::app {
namespace {

using runtime::MetricDecl;

constexpr std::string_view kMade =
    "\nMade from the declarations in the code by `make docs`; do not edit.\n";

std::string concurrency_page() {
  return "# Tasks, channels and locks\n" + std::string(kMade) + "\n" +
         runtime::to_markdown(storage::kWires);
}

std::string config_page() {
  std::string page = config::reference_markdown(schema());
  const std::size_t title_end = page.find('\n') + 1;
  return page.insert(title_end, kMade);
}

// Every series has `service`; a label with a closed set of values shows them.
std::string labels_of(const MetricDecl& decl) {
  std::string out = "`service`";
  for (std::size_t i = 0; i < decl.label_count; ++i) {
    out += ", `" + std::string(decl.labels[i].name) + "`";
    std::string values;
    for (const std::string_view value : decl.labels[i].allowed) {
      values += (values.empty() ? "" : ", ") + std::string(value);
    }
    if (!values.empty()) out += " (" + values + ")";
  }
  return out;
}

std::string metrics_page() {
  std::string out = "# Metrics\n" + std::string(kMade) +
                    "\n`GET /metrics` on the admin listener, in Prometheus' text format.\n\n"
                    "| name | kind | labels | meaning |\n| --- | --- | --- | --- |\n";
  for (const MetricDecl* decl : declared_metrics()) {
    out += "| `" + std::string(decl->name) + "` | " + std::string(name(decl->kind)) + " | " +
           labels_of(*decl) + " | " + std::string(decl->help) + " |\n";
  }
  return out;
}

std::string errors_page() {
  std::string out =
      "# Error codes\n" + std::string(kMade) +
      "\nThe `code` of the JSON error envelope. Codes are stable; messages are not.\n\n"
      "| status | code | retry helps | meaning |\n| ---: | --- | --- | --- |\n";
  for (const base::CodeInfo& info : base::all_codes()) {
    out += "| " + std::to_string(info.status) + " | `" + std::string(info.name) + "` | " +
           (info.retry_helps ? "yes" : "no") + " | " + std::string(info.meaning) + " |\n";
  }
  return out;
}

}  // namespace

std::vector<const MetricDecl*> declared_metrics() {
  std::vector<const MetricDecl*> all;
  const auto take = [&all](const auto& list) { all.insert(all.end(), list.begin(), list.end()); };
  take(runtime::metrics::kShared);
  take(http::metrics::kAll);
  take(http::metrics::kClient);
  take(storage::metrics::kAll);
  std::ranges::sort(all, {}, [](const MetricDecl* decl) { return decl->name; });
  return all;
}

std::vector<Page> reference_pages() {
  return {{"concurrency", concurrency_page()},
          {"config", config_page()},
          {"metrics", metrics_page()},
          {"errors", errors_page()}};
}

}  // namespace ron::app
