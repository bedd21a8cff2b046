#include "cli/pack_mounts.h"

#include <utility>

#include "base/value.h"
#include "catalog/name.h"
#include "cli/documents.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "config/value.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::Result;
using base::Value;
using platform::Task;

constexpr std::size_t kNameBytes = 64;

std::uint64_t number_at(const Value& document, std::string_view key) {
  const Value* const found = document.find(key);
  return found != nullptr ? found->unsigned_number().value_or(0) : 0;
}

std::string preview_of(const Session& session, const std::string& name) {
  return session.options().server.text() + "/edge/preview/" + name;
}

// `world  mounted  pmtiles mvt  zoom 0-6  2808 tiles  4.2 MiB
// http://127.0.0.1:8080/edge/preview/world`
std::string pack_line(const Session& session, const Value& pack) {
  std::string line = printable_at(pack, "name") + "  " + printable_at(pack, "state");
  if (pack.find("format") != nullptr) {
    line += "  " + printable_at(pack, "format") + " " + printable_at(pack, "type") + "  zoom " +
            std::to_string(number_at(pack, "min_zoom")) + "-" +
            std::to_string(number_at(pack, "max_zoom")) + "  " +
            std::to_string(number_at(pack, "tiles")) + " tiles  " +
            human_bytes(number_at(pack, "bytes")) + "  " +
            preview_of(session, printable_at(pack, "name"));
  }
  const std::string error = printable_at(pack, "error");
  if (!error.empty()) line += "  (" + error + ")";
  return line + "\n";
}

// A large pack takes longer to verify than a request may: the server goes on by itself.
void complain_of_add(Session& session, const AddPack& what, const base::Error& error) {
  if (error.code == Code::Timeout) {
    session.complain(what.file, "it is still being verified; `ron pack ls` shows when it is there");
  } else {
    session.complain_of_admin(what.file, error);
  }
}

Task<int> run_add(Session* session, const AddPack* what, std::string path) {
  Value::Map document{{"name", what->name}, {"path", std::move(path)}};
  if (!what->missing.empty()) document.emplace("missing", what->missing);
  const auto text = co_await session->admin().post_json(
      "/admin/packs", base::print_json(Value(std::move(document))));
  if (!text) {
    complain_of_add(*session, *what, text.error());
  } else {
    session->print(preview_of(*session, what->name) + "\n" + session->options().server.text() +
                   "/edge/tiles/" + what->name + ".json\n");
  }
  co_return session->exit_code();
}

Task<int> run_list(Session* session, bool json) {
  const auto document = co_await get_document(session, "/edge/packs");
  const Value* const packs = document ? document->find("packs") : nullptr;
  if (!document) {
    session->complain("", document.error());
  } else if (packs == nullptr || packs->array() == nullptr) {
    session->complain("", "the server's answer is no list of packs");
  } else {
    std::string text;
    for (const Value& pack : *packs->array()) {
      text += json ? base::print_json(pack) + "\n" : pack_line(*session, pack);
    }
    session->print(text);
  }
  co_return session->exit_code();
}

Task<int> run_remove(Session* session, const std::string* name) {
  const auto text =
      co_await session->admin().delete_json("/admin/packs/" + catalog::encode_in_path(*name));
  if (!text) {
    session->complain_of_admin(*name, text.error());
  } else {
    session->print(*name + "  removed\n");
  }
  co_return session->exit_code();
}

}  // namespace

std::string pack_name_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  std::string_view stem = std::string_view(file).substr(slash == std::string::npos ? 0 : slash + 1);
  for (const std::string_view extension : {".pmtiles", ".mbtiles"}) {
    if (stem.ends_with(extension)) stem.remove_suffix(extension.size());
  }
  std::string name;
  for (const char c : stem) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (is_upper || is_fine) {
      name += is_upper ? static_cast<char>(c + ('a' - 'A')) : c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  name.erase(0, name.find_first_not_of('.'));
  return name.substr(0, kNameBytes);
}

Result<std::string> path_for_server(const std::string& file) {
  auto path = platform::posix::real_path(file);
  if (!path && file.starts_with('/')) return file;
  return path;
}

int add_pack(const ClientOptions& options, const AddPack& what) {
  AddPack named = what;
  if (named.name.empty()) named.name = pack_name_of(what.file);
  if (named.name.empty()) {
    return bad_usage("pack add: '" + config::printable(what.file) + "' needs a --name for URLs");
  }
  const auto path = path_for_server(what.file);
  if (!path) return failed("pack add: " + path.error().message);
  return run_session("pack add", options, [&named, &path](Session& session) {
    return run_add(&session, &named, *path);
  });
}

int list_packs(const ClientOptions& options, bool json) {
  return run_session("pack ls", options,
                     [json](Session& session) { return run_list(&session, json); });
}

int remove_pack(const ClientOptions& options, const std::string& name) {
  return run_session("pack rm", options,
                     [&name](Session& session) { return run_remove(&session, &name); });
}

}  // namespace ron::cli
