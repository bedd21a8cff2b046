#include "cli/tree_ref.h"

#include <algorithm>
#include <utility>

#include "catalog/manifest_path.h"
#include "catalog/media_type.h"
#include "cli/download.h"
#include "cli/index_client.h"
#include "config/nearest.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::size_t kWindow = 6;  // pieces in flight

std::string_view without_slash(std::string_view text) noexcept {
  return text.ends_with('/') ? text.substr(0, text.size() - 1) : text;
}

Result<Meant> parse_address(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = base::ObjectId::parse(text.substr(0, slash));
  if (!address) return fail(address.error());
  Meant meant{.shown = address->text(), .target = *address, .type = {}, .path = {}};
  if (slash == std::string_view::npos) return meant;
  meant.path = text.substr(slash + 1);
  if (auto sound = catalog::check_path(meant.path); !sound) return fail(std::move(sound.error()));
  return meant;
}

// Names that begin with the same letter, as far as one answer has them.
Task<std::string> nearest_name(Session* session, std::string text) {
  const auto page =
      co_await list_names(session, {.prefix = text.substr(0, 1), .delimiter = {}, .after = {}});
  if (!page) co_return "";
  std::vector<std::string> names;
  for (const NameVersion& one : page->names) names.push_back(one.name);
  co_return config::nearest(text, names);
}

Task<base::Error> not_found(Session* session, std::string text) {
  const std::string near = co_await nearest_name(session, text);
  co_return base::Error(Code::NotFound, "nothing is named '" + text + "'" +
                                            (near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace

bool Meant::is_tree() const noexcept { return type == catalog::kManifestType; }

Result<std::vector<Reading>> readings(std::string_view text) {
  text = without_slash(text);
  std::vector<Reading> found;
  for (std::size_t end = text.size(); end != std::string_view::npos && end > 0;
       end = text.rfind('/', end - 1)) {
    auto ref = catalog::parse_name_ref(text.substr(0, end));
    if (!ref) continue;
    const std::string_view path = text.substr(std::min(end + 1, text.size()));
    if (end < text.size() && !catalog::check_path(path)) break;  // with more of it neither
    found.push_back({std::move(*ref), std::string(path)});
  }
  if (!found.empty()) return found;
  return fail(catalog::parse_name_ref(text).error());
}

Task<Result<Meant>> find_meant(Session* session, std::string text) {
  if (text.starts_with("b3:")) co_return parse_address(without_slash(text));
  const auto ways = readings(text);
  if (!ways) co_return fail(ways.error());
  for (const Reading& way : *ways) {
    const auto found = co_await find_name(session, way.ref);
    if (!found) co_return fail(found.error());
    if (!*found) continue;
    const NameVersion& version = **found;
    if (!version.target) {
      co_return fail(Code::NotFound, version.ref() + " is a removal; ron name history " +
                                         version.name + " shows what was there before");
    }
    if (!way.path.empty() && !version.is_tree()) {
      co_return fail(Code::NotFound, "'" + version.ref() + "' is not a tree but " +
                                         (version.type.empty() ? "an object" : version.type));
    }
    co_return Meant{version.ref(), *version.target, version.type, way.path};
  }
  auto error = co_await not_found(session, std::string(without_slash(text)));
  co_return fail(std::move(error));
}

Task<Result<catalog::Manifest>> load_manifest(Session* session, base::ObjectId address) {
  MemorySink sink(catalog::kMaxManifestBytes);
  const auto length = co_await download(session, {.id = address, .sink = &sink, .window = kWindow});
  if (!length) co_return fail(length.error());
  auto parsed =
      co_await session->off_loop([text = sink.release()] { return catalog::parse_manifest(text); });
  if (parsed) co_return std::move(*parsed);
  co_return fail(parsed.error().code,
                 address.text() + " is no manifest: " + parsed.error().message);
}

}  // namespace ron::cli
