#include "cli/site.h"

#include <utility>

#include "base/value.h"
#include "catalog/name.h"
#include "cli/documents.h"
#include "cli/exit.h"
#include "cli/session.h"
#include "cli/tree_put.h"
#include "config/value.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Result;
using base::Value;
using platform::Task;

bool is_directory(const std::string& path) {
  const auto facts = platform::posix::target_facts(path);
  return facts && facts->kind == platform::posix::FileKind::Directory;
}

// `'public' is no directory here`, of what was taken for a name for that reason.
std::string no_directory(const std::string& path) {
  const bool is_there = platform::posix::target_facts(path).has_value();
  return "'" + config::printable(path) + "' is " + (is_there ? "a file" : "no directory") + " here";
}

std::string number_at(const Value& document, std::string_view key) {
  const Value* const found = document.find(key);
  const auto number = found != nullptr ? found->unsigned_number() : std::nullopt;
  return number ? std::to_string(*number) : "-";
}

// `docs  sites/docs@3  ready  12 files  http://127.0.0.1:8080/edge/sites/docs/`
std::string site_line(const Session& session, const Value& site) {
  std::string line = printable_at(site, "site") + "  " + printable_at(site, "target");
  if (site.find("version") != nullptr && !line.contains('@'))
    line += "@" + number_at(site, "version");
  line += "  " + printable_at(site, "state") + "  " + number_at(site, "files") + " files  " +
          session.options().server.text() + printable_at(site, "path");
  const Value* const missing = site.find("missing_files");
  if (missing != nullptr) {
    const std::string count = number_at(site, "missing_files");
    line += "  (" + count + (count == "1" ? " file is" : " files are") + " not stored, first " +
            printable_at(site, "first_missing") + ")";
  }
  const std::string error = printable_at(site, "error");
  if (!error.empty()) line += "  (" + error + ")";
  return line + "\n";
}

Task<int> run_add(Session* session, const AddSite* what, std::string target) {
  const Value document(Value::Map{{"site", what->site}, {"target", target}});
  const auto text = co_await session->admin().post_json("/admin/sites", base::print_json(document));
  if (!text) {
    base::Error error = text.error();
    const bool is_unknown =
        error.code == base::Code::NotFound && error.message == "there is no such name";
    // A folder whose name was mistyped looks like that.
    if (is_unknown && !is_directory(what->target)) {
      error.message = no_directory(what->target) + ", and the server has no such name";
    }
    session->complain_of_admin(what->site, error);
    co_return session->exit_code();
  }
  const auto site = base::parse_json(*text);
  if (!site) {
    session->complain(what->site, "the server's answer is no document");
  } else {
    session->print(session->options().server.text() + printable_at(*site, "path") + "\n");
  }
  co_return session->exit_code();
}

Task<int> run_list(Session* session, bool json) {
  const auto document = co_await get_document(session, "/edge/sites");
  const Value* const sites = document ? document->find("sites") : nullptr;
  if (!document) {
    session->complain("", document.error());
  } else if (sites == nullptr || sites->array() == nullptr) {
    session->complain("", "the server's answer is no list of sites");
  } else {
    std::string text;
    for (const Value& site : *sites->array()) {
      text += json ? base::print_json(site) + "\n" : site_line(*session, site);
    }
    session->print(text);
  }
  co_return session->exit_code();
}

Task<int> run_remove(Session* session, const std::string* site) {
  const auto text =
      co_await session->admin().delete_json("/admin/sites/" + catalog::encode_in_path(*site));
  if (!text) {
    session->complain_of_admin(*site, text.error());
  } else {
    session->print(*site + "  removed\n");
  }
  co_return session->exit_code();
}

}  // namespace

int add_site(const ClientOptions& options, const AddSite& what) {
  // The server learns of it only when the files are stored.
  if (!catalog::is_site_name(what.site)) {
    return bad_usage("site add: '" + config::printable(what.site) +
                     "' cannot be in URLs: a site is called [A-Za-z0-9][A-Za-z0-9._-]*, with at "
                     "most 64 characters");
  }
  std::string target = what.target;
  if (is_directory(what.target)) {
    auto name =
        what.name ? Result<catalog::Name>(*what.name) : catalog::parse_name("sites/" + what.site);
    if (!name) return bad_usage("site add: " + name.error().message);
    PutNamed tree{.path = what.target,
                  .name = std::move(*name),
                  .type = {},
                  .spool = {},
                  .if_version = {},
                  .allow_skipped = what.allow_skipped,
                  .links = what.follow ? TreeWalk::Links::Follow : TreeWalk::Links::Keep};
    const int put = put_named(options, tree);
    if (put != kExitClean) return put;
    target = tree.name.text();
  } else if (const auto key = catalog::parse_key(what.target); !key) {
    return bad_usage("site add: " + no_directory(what.target) +
                     ", and no name or address: " + key.error().message);
  } else if (what.name || what.allow_skipped || what.follow) {
    const std::string flag = what.name ? "--name" : what.follow ? "--follow" : "--allow-skipped";
    return bad_usage("site add: " + flag + " is for a directory, and '" +
                     config::printable(what.target) + "' is none");
  }
  return run_session("site add", options, [&what, &target](Session& session) {
    return run_add(&session, &what, target);
  });
}

int list_sites(const ClientOptions& options, bool json) {
  return run_session("site ls", options,
                     [json](Session& session) { return run_list(&session, json); });
}

int remove_site(const ClientOptions& options, const std::string& site) {
  return run_session("site rm", options,
                     [&site](Session& session) { return run_remove(&session, &site); });
}

}  // namespace ron::cli
