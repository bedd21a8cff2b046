#include "cli/index_read.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/value.h"
#include "cli/session.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using platform::Task;

Value to_value(const NameVersion& version) {
  Value::Map map{{"name", version.name}, {"version", version.version}, {"at", version.at}};
  map.emplace("target", version.target ? Value(version.target->text()) : Value());
  if (!version.type.empty()) map.emplace("type", version.type);
  if (version.meta.empty()) return map;
  Value::Map meta;
  for (const auto& [key, value] : version.meta) meta.emplace(key, value);
  map.emplace("meta", std::move(meta));
  return map;
}

std::string shown(const NameVersion& version, bool json) {
  return json ? base::print_json(to_value(version)) + "\n" : version_line(version);
}

base::Error no_such_name(const std::string& ref) {
  return {Code::NotFound, "nothing is named '" + ref + "'; ron name ls lists what there is"};
}

Task<int> run_show(Session* session, const catalog::NameRef* ref, bool json) {
  const auto found = co_await find_name(session, *ref);
  if (!found) {
    session->complain(ref->text(), found.error());
  } else if (!*found) {
    session->complain("", no_such_name(ref->text()));
  } else {
    std::string text = shown(**found, json);
    for (const auto& [key, value] : (*found)->meta) {
      if (!json) text += "  " + key + " = " + value + "\n";
    }
    session->print(text);
  }
  co_return session->exit_code();
}

Task<int> run_history(Session* session, const catalog::Name* name, bool json) {
  std::optional<std::uint64_t> before;
  do {
    const auto page = co_await get_history(session, *name, before);
    if (!page && page.error().code == Code::NotFound) {
      session->complain("", no_such_name(name->text()));
      break;
    }
    if (!page) {
      session->complain(name->text(), page.error());
      break;
    }
    std::string text;
    for (const NameVersion& version : page->versions) text += shown(version, json);
    if (!session->print(text)) break;
    before = page->next;
  } while (before);
  co_return session->exit_code();
}

// Names and common prefixes come apart; people want them in one order.
std::string page_text(const NamePage& page, const ListNames& what) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const NameVersion& version : page.names) {
    lines.emplace_back(version.name,
                       what.json || what.is_long ? shown(version, what.json) : version.name + "\n");
  }
  for (const std::string& prefix : page.prefixes) {
    lines.emplace_back(prefix, what.json ? base::print_json(Value::Map{{"prefix", prefix}}) + "\n"
                                         : prefix + "\n");
  }
  std::ranges::sort(lines);
  std::string text;
  for (const auto& [name, line] : lines) text += line;
  return text;
}

Task<int> run_list(Session* session, const ListNames* what) {
  std::string after;
  while (true) {
    const auto page = co_await list_names(
        session, {.prefix = what->prefix, .delimiter = what->recursive ? "" : "/", .after = after});
    if (!page) {
      session->complain("", page.error());
      break;
    }
    if (!session->print(page_text(*page, *what)) || !page->next) break;
    after = *page->next;
  }
  co_return session->exit_code();
}

Task<int> run_set(Session* session, const SetName* what) {
  const auto set = co_await set_name(session, *what);
  if (!set) {
    session->complain(what->name.text(), set.error());
  } else {
    session->print(version_line(*set));
  }
  co_return session->exit_code();
}

Task<int> run_remove(Session* session, const catalog::Name* name,
                     std::optional<std::uint64_t> if_version) {
  const auto removed = co_await remove_name(session, *name, if_version);
  if (!removed && removed.error().code == Code::NotFound) {
    session->complain("", no_such_name(name->text()));
  } else if (!removed) {
    session->complain(name->text(), removed.error());
  } else {
    session->print(version_line(*removed));
  }
  co_return session->exit_code();
}

// The answer as it came, or what `as_text` makes of it.
Task<int> run_ask(Session* session, std::string about, std::string target, bool json,
                  Result<std::string> (*as_text)(std::string_view)) {
  const auto answer = co_await session->objects().get_json(std::move(target));
  const auto text = answer && !json ? as_text(*answer) : answer;
  if (!text) {
    session->complain(about, text.error());
  } else {
    session->print(text->ends_with('\n') ? *text : *text + "\n");
  }
  co_return session->exit_code();
}

}  // namespace

std::string version_line(const NameVersion& version) {
  std::string line = version.ref() + "  " + (version.target ? version.target->text() : "removed");
  if (!version.type.empty()) line += "  " + version.type;
  if (!version.at.empty()) line += "  " + version.at;
  return line + "\n";
}

int show_name(const ClientOptions& options, const catalog::NameRef& ref, bool json) {
  return run_session("name get", options,
                     [&ref, json](Session& session) { return run_show(&session, &ref, json); });
}

int show_history(const ClientOptions& options, const catalog::Name& name, bool json) {
  return run_session("name history", options, [&name, json](Session& session) {
    return run_history(&session, &name, json);
  });
}

int list_names(const ClientOptions& options, const ListNames& what) {
  return run_session("name ls", options,
                     [&what](Session& session) { return run_list(&session, &what); });
}

int set_name(const ClientOptions& options, const SetName& what) {
  return run_session("name set", options,
                     [&what](Session& session) { return run_set(&session, &what); });
}

int remove_name(const ClientOptions& options, const catalog::Name& name,
                std::optional<std::uint64_t> if_version) {
  return run_session("name rm", options, [&name, if_version](Session& session) {
    return run_remove(&session, &name, if_version);
  });
}

int resolve_key(const ClientOptions& options, const catalog::Key& key, bool fresh, bool json) {
  const std::string text = catalog::print(key);
  const std::string target =
      "/resolve/" + catalog::encode_in_path(text) + (fresh ? "?fresh=1" : "");
  return run_session("resolve", options, [&text, &target, json](Session& session) {
    return run_ask(&session, text, target, json, &resolution_text);
  });
}

int find_providers(const ClientOptions& options, const FindProviders& what) {
  std::string target = "/providers/" + what.address.text();
  std::string separator = "?";
  if (!what.region.empty()) {
    target += std::exchange(separator, "&") + "region=" + catalog::encode_in_path(what.region);
  }
  if (what.limit) target += separator + "limit=" + std::to_string(*what.limit);
  return run_session("providers", options, [&what, &target](Session& session) {
    return run_ask(&session, what.address.text(), target, what.json, &providers_text);
  });
}

}  // namespace ron::cli
