#include "cli/stat.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/json.h"
#include "cli/in_order.h"
#include "cli/object_pages.h"
#include "cli/session.h"
#include "cli/stats_screen.h"
#include "cli/stats_text.h"
#include "config/value.h"

namespace ron::cli {
namespace {

using base::Result;
using platform::Task;

constexpr std::string_view kStats = "/admin/stats";
constexpr base::Duration kSampleTime = std::chrono::seconds(1);

struct Looked {
  base::ObjectId id;
  Result<ObjectFacts> facts;
  std::optional<ObjectHolders> holders{};
};

Task<Looked> look(Session* session, base::ObjectId id, bool details) {
  auto facts = co_await session->objects().head(id);
  Looked looked{id, std::move(facts)};
  if (!details || !looked.facts) co_return looked;
  const auto text = co_await session->admin().get_json("/admin/objects/" + id.text());
  auto holders = text ? parse_object_holders(*text) : base::fail(text.error());
  if (holders) {
    looked.holders = std::move(*holders);
  } else {
    looked.facts = base::fail(std::move(holders.error()));
  }
  co_return looked;
}

std::string as_json(const Looked& looked) {
  std::string line;
  base::JsonWriter json(line);
  json.begin_object().key("address").value(looked.id.text());
  json.key("present").value(looked.facts.has_value());
  if (looked.facts) {
    json.key("length").value(looked.facts->length).key("etag").value(looked.facts->etag);
  }
  if (looked.holders) {
    json.key("holders").begin_array();
    for (const std::string& tenant : looked.holders->tenants) json.value(tenant);
    json.end_array().key("more_holders").value(looked.holders->more);
  }
  json.end_object();
  return line + "\n";
}

std::string as_text(const Looked& looked) {
  if (!looked.facts) return looked.id.text() + "  missing\n";
  std::string line = looked.id.text() + "  present  " + std::to_string(looked.facts->length) +
                     "  " + looked.facts->etag;
  if (looked.holders) {
    std::string names;
    for (const std::string& tenant : looked.holders->tenants) {
      names += (names.empty() ? "" : ", ") + config::printable(tenant);
    }
    line += "  held by " + (names.empty() ? "nobody" : names);
    if (looked.holders->more) line += " and others";
  }
  return line + "\n";
}

Task<int> stat_all(Session* session, const std::vector<base::ObjectId>* ids, StatFormat format) {
  InOrder<Looked> window(session->tasks(), session->options().jobs);
  bool missing = false;
  std::size_t started = 0;
  while (started < ids->size() || !window.empty()) {
    while (started < ids->size() && !window.full()) {
      window.start(look(session, (*ids)[started++], format.details));
    }
    const Looked looked = co_await window.next();
    if (!looked.facts && looked.facts.error().code != base::Code::NotFound) {
      session->complain(looked.id.text(), looked.facts.error());
      continue;
    }
    missing = missing || !looked.facts;
    if (!session->print(format.json ? as_json(looked) : as_text(looked))) break;
  }
  co_return missing ? 1 : session->exit_code();
}

// All of it. A check of all objects that runs is looked at twice: only so can be told how long it
// will take.
Task<Result<std::string>> all_text(Session* session, std::string first) {
  std::string later;
  if (scrub_runs(first)) {
    co_await runtime::sleep_for(kSampleTime);
    auto second = co_await session->admin().get_json(std::string(kStats));
    if (second) later = std::move(*second);
  }
  co_return stats_text(first, later, kSampleTime);
}

Task<int> stat_once(Session* session, StatForm form) {
  const auto stats = co_await session->admin().get_json(std::string(kStats));
  if (!stats) {
    session->complain_of_admin("", stats.error());
    co_return session->exit_code();
  }
  Result<std::string> text = *stats + "\n";
  if (form == StatForm::Screen) text = stats_screen(*stats);
  if (form == StatForm::All) text = co_await all_text(session, *stats);
  if (text) session->print(*text);
  if (!text) session->complain(session->options().admin->text(), text.error());
  co_return session->exit_code();
}

}  // namespace

int stat_objects(const ClientOptions& options, const std::vector<base::ObjectId>& ids,
                 StatFormat format) {
  return run_session("stat", options,
                     [&ids, format](Session& session) { return stat_all(&session, &ids, format); });
}

int stat_server(const ClientOptions& options, StatForm form) {
  return run_session("stat", options,
                     [form](Session& session) { return stat_once(&session, form); });
}

}  // namespace ron::cli
