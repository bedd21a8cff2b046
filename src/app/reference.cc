#include "app/reference.h"

#include <algorithm>

#include "app/schema.h"
#include "app/services.h"
#include "base/error.h"
#include "config/render.h"
#include "http/client_metrics.h"
#include "http/metric_names.h"
#include "http/upstream_metrics.h"
#include "observe/span_metrics.h"
#include "runtime/metric_names.h"
#include "runtime/topology.h"

namespace ron::app {
namespace {

using runtime::MetricDecl;
using Kinds = std::span<const kit::ServiceKind* const>;

constexpr std::string_view kMade =
    "\nMade from the declarations in the code by `make docs`; do not edit.\n";

std::string concurrency_page(Kinds services) {
  std::string page = "# Tasks, channels and locks\n" + std::string(kMade);
  for (const kit::ServiceKind* kind : services) page += "\n" + runtime::to_markdown(*kind->wires);
  return page;
}

std::string config_page(const config::Schema& schema) {
  std::string page = config::reference_markdown(schema);
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

std::string metrics_page(Kinds services) {
  std::string out = "# Metrics\n" + std::string(kMade) +
                    "\n`GET /metrics` on the admin listener, in Prometheus' text format.\n\n"
                    "| name | kind | labels | meaning |\n| --- | --- | --- | --- |\n";
  for (const MetricDecl* decl : declared_metrics(services)) {
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

std::string bound_of(const kit::ListDecl& list) {
  if (list.most == 0) return "";
  if (list.usual == 0 || list.usual == list.most) return std::to_string(list.most);
  return std::to_string(list.usual) + ", at most " + std::to_string(list.most);
}

void append_lists(std::string& out, std::string_view title,
                  std::span<const kit::ListDecl* const> lists) {
  out += "\n## " + std::string(title) +
         "\n\n| route | asked with | entries | on one page | bounded by |\n"
         "| --- | --- | --- | ---: | --- |\n";
  for (const kit::ListDecl* list : lists) {
    out += "| `GET " + std::string(list->pattern) + "` | " + std::string(list->query) + " | " +
           std::string(list->entries) + " | " + bound_of(*list) + " | " +
           std::string(list->bounded_by) + " |\n";
  }
}

std::string lists_page(Kinds services) {
  std::string out = "# Lists\n" + std::string(kMade) +
                    "\nEvery route that lists things, and what bounds its answer. `limit` asks for "
                    "fewer or more, "
                    "up to the bound.\n";
  for (const kit::ServiceKind* kind : services) {
    if (!kind->lists.empty()) append_lists(out, kind->wires->service, kind->lists);
  }
  append_lists(out, "the admin listener of every service", kit::kAdminLists);
  return out;
}

std::vector<const kit::ServiceKind*> all_kinds() {
  std::vector<const kit::ServiceKind*> kinds;
  for (const ServiceEntry& entry : services()) kinds.push_back(entry.kind);
  return kinds;
}

}  // namespace

std::vector<const MetricDecl*> declared_metrics(Kinds services) {
  std::vector<const MetricDecl*> all;
  const auto take = [&all](const auto& list) { all.insert(all.end(), list.begin(), list.end()); };
  take(runtime::metrics::kShared);
  take(http::metrics::kAll);
  take(http::metrics::kClient);
  take(http::metrics::kUpstream);
  take(observe::metrics::kSpans);
  for (const kit::ServiceKind* kind : services) take(kind->metrics);
  std::ranges::sort(all, {}, [](const MetricDecl* decl) { return decl->name; });
  return all;
}

std::vector<const MetricDecl*> declared_metrics() { return declared_metrics(all_kinds()); }

std::vector<Page> reference_pages(Kinds services, const config::Schema& schema) {
  return {{"concurrency", concurrency_page(services)},
          {"config", config_page(schema)},
          {"metrics", metrics_page(services)},
          {"errors", errors_page()},
          {"lists", lists_page(services)}};
}

std::vector<Page> reference_pages() { return reference_pages(all_kinds(), schema()); }

}  // namespace ron::app
