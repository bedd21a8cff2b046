// Trees as web sites: their files, the list of them, and what operators change.
#include <chrono>
#include <string>
#include <utility>

#include "base/limits.h"
#include "catalog/name.h"
#include "chain/fields.h"
#include "http/accept.h"
#include "http/selection.h"
#include "services/edge/error_page.h"
#include "services/edge/lists.h"
#include "services/edge/routes.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::edge {
namespace {

using auth::Access;
using auth::Scope;
using base::Code;
using base::fail;
using base::Result;
using base::Value;
using http::Method;
using http::Request;
using http::Response;
using kit::refuse;
using platform::Task;

// Whoever waits for a file has a deadline of its own; this one is for those who come later.
constexpr base::Duration kReadTime = std::chrono::seconds(30);
constexpr std::size_t kMostTargetChars = 1024;

constexpr std::string_view kForever = "Cache-Control: public, max-age=31536000, immutable\r\n";
constexpr std::string_view kAskAgain = "Cache-Control: no-cache\r\n";

// A file in one of its forms. The same file is another answer as itself, as a coding of the file it
// stands beside, and as an error page.
struct Form {
  enum class Kind : std::uint8_t { Plain, ErrorPage, FirstSibling };
  SiteTree::FileIndex asked;   // whose type it has
  SiteTree::FileIndex stored;  // whose bytes
  std::uint64_t variant = 0;   // a Kind; siblings count on from the first

  [[nodiscard]] bool is_error_page() const noexcept {
    return variant == static_cast<std::uint64_t>(Kind::ErrorPage);
  }
};

Form plain(SiteTree::FileIndex file) { return {.asked = file, .stored = file}; }

std::uint64_t variant_of(std::size_t sibling) {
  return static_cast<std::uint64_t>(Form::Kind::FirstSibling) + sibling;
}

// What the client wants most; the shortest of those that it wants alike.
Form choose(const SiteTree& tree, SiteTree::FileIndex asked, const http::RequestHead& head) {
  Form chosen = plain(asked);
  const SiteTree::File& file = tree.file(asked);
  if (!tree.has_siblings(file) || !head.has(http::KnownField::AcceptEncoding)) return chosen;
  int best = http::coding_weight(head, http::Coding::Identity);
  for (std::size_t i = 0; i < kSiblingKinds.size(); ++i) {
    const SiteTree::FileIndex sibling = file.siblings[i];
    if (sibling == SiteTree::kNoFile) continue;
    const int weight = http::coding_weight(head, kSiblingKinds[i].coding);
    const bool is_shorter = tree.file(sibling).length < tree.file(chosen.stored).length;
    if (weight == 0 || weight < best || (weight == best && !is_shorter)) continue;
    best = weight;
    chosen.stored = sibling;
    chosen.variant = variant_of(i);
  }
  return chosen;
}

std::string header_lines(const Site& site, const Form& form) {
  const SiteTree::File& asked = site.tree->file(form.asked);
  std::string lines = "Content-Type: " + site.tree->type_of(asked) + "\r\n";
  if (form.variant >= variant_of(0)) {
    const http::Coding coding = kSiblingKinds[form.variant - variant_of(0)].coding;
    lines += "Content-Encoding: ";
    lines += http::coding_name(coding);
    lines += "\r\n";
  }
  if (!form.is_error_page()) {
    lines += "ETag: \"" + site.tree->file(form.stored).address.text() + "\"\r\n";
    lines += "Accept-Ranges: bytes\r\n";
    if (site.tree->has_siblings(asked)) lines += "Vary: Accept-Encoding\r\n";
  }
  lines += site.is_fixed && !form.is_error_page() ? kForever : kAskAgain;
  return lines;
}

// What is needed to read a file, whatever becomes of its site meanwhile.
struct FileToRead {
  Origin* origin;
  platform::SendArena* arena;
  base::ObjectId address;
  std::uint64_t length;
  std::string lines;
};

// A site without one of its files is no mistake of the client.
base::Error unreadable(base::Error error, const base::ObjectId& address) {
  if (error.code != Code::NotFound) return error;
  return base::Error(Code::UpstreamFail, "a file of the site is not stored")
      .with("address", address.text());
}

Task<Result<kit::RepresentationPtr>> read_file(FileToRead file) {
  auto bytes = co_await read_object(file.origin, file.address, file.length,
                                    runtime::Deadline::in(kReadTime));
  if (!bytes) co_return fail(unreadable(std::move(bytes.error()), file.address));
  co_return std::make_shared<const kit::Representation>(file.address.text(), std::move(file.lines),
                                                        std::move(*bytes), *file.arena);
}

Task<Result<kit::RepresentationPtr>> load(Core* core, SitePtr site, Form form, Request* request) {
  const MemoryKey key{site->generation, form.stored, form.variant};
  kit::RepresentationPtr found = core->loader().find(key);
  if (found) co_return found;
  const SiteTree::File& file = site->tree->file(form.stored);
  Sites& sites = core->sites();
  FileToRead wanted{&sites.origin(), &sites.parts().host.send_arena, file.address, file.length,
                    header_lines(*site, form)};
  co_return co_await core->loader().load(
      key, [wanted = std::move(wanted)]() mutable { return read_file(std::move(wanted)); },
      request->deadline);
}

// What is too large for memory, or has no room there, goes by piece by piece.
bool is_streamed(Core& core, const SiteTree::File& file) {
  if (file.length > base::limits::kDecodedBytes) return true;
  return !core.loader().memory().admits(file.length) && core.sites().origin().has_parts();
}

Task<Response> stream(Core* core, Request* request, SiteTree::File file, http::Selection selection,
                      Response response) {
  const storage_api::Range range{selection.offset, selection.length};
  auto opened = co_await core->sites().origin().open(file.address, range, request->deadline);
  if (!opened)
    co_return refuse_visibly(*request, unreadable(std::move(opened.error()), file.address));
  if (opened->object_length != file.length) {
    co_return refuse_visibly(*request,
                             {Code::IntegrityFail, "the object is not as long as its site says"});
  }
  response.body = http::SizedBody{std::move(opened->body), selection.length};
  co_return response;
}

// Conditions, ranges and HEAD need nothing but what the tree says.
Task<Response> answer_miss(Core* core, Request* request, SitePtr site, Form form) {
  const SiteTree::File& file = site->tree->file(form.stored);
  const std::string tag = file.address.text();
  const http::Selection selection = http::select(*request->head, {tag, false}, file.length);
  Response response = kit::head_for(*request, selection, file.length);
  if (!kit::describes_it(selection)) co_return response;
  const bool is_bodiless = !selection.selects() || selection.length == 0;
  const bool is_head = request->head->method == Method::Head;
  if (!is_bodiless && !is_head && !is_streamed(*core, file)) {
    const auto loaded = co_await load(core, site, form, request);
    if (!loaded) co_return refuse_visibly(*request, loaded.error());
    co_return kit::answer(*request, *loaded, selection);
  }
  response.lines += header_lines(*site, form);
  if (is_bodiless) co_return response;
  if (is_head) {
    response.body = http::SizedBody{nullptr, selection.length};
    co_return response;
  }
  co_return co_await stream(core, request, file, selection, std::move(response));
}

// The site's own page if it has one, else our envelope.
Task<Response> answer_missing(Core* core, Request* request, SitePtr site) {
  const base::Error error(Code::NotFound, "the site has nothing at this path");
  const SiteTree::FileIndex page = site->tree->error_page(request->params[1]);
  const bool is_usable =
      page != SiteTree::kNoFile && site->tree->file(page).length <= base::limits::kDecodedBytes;
  if (!is_usable) co_return refuse_visibly(*request, error);
  Form form = plain(page);
  form.variant = static_cast<std::uint64_t>(Form::Kind::ErrorPage);
  const auto loaded = co_await load(core, site, form, request);
  if (!loaded) co_return refuse_visibly(*request, error);
  Response response(404);
  response.error_code = base::info(Code::NotFound).name;
  response.prepared_lines = (*loaded)->header_lines;
  response.owner = *loaded;
  response.body = http::SharedBody{.bytes = (*loaded)->bytes()};
  co_return response;
}

// To the same with a slash, so that relative links on the page lead where they should. Relative
// itself: whoever stands in front may have put the site below another path.
Response redirect(const Request& request, const Site& site) {
  const std::string_view path = request.path;
  std::string location = catalog::encode_in_path(path.substr(path.rfind('/') + 1)) + "/";
  if (!request.query.empty()) location += "?" + std::string(request.query);
  Response response(308);
  response.add("Location", location);
  response.lines += site.is_fixed ? kForever : kAskAgain;
  return response;
}

// The site, if it has something to show.
Result<SitePtr> shown_site(const Sites& sites, const Request& request) {
  SitePtr site = sites.find(request.params[0]);
  if (!site) return fail(Code::NotFound, "there is no such site");
  if (site->tree) return site;
  const base::Error& error = *site->error;
  const bool is_empty = error.code == Code::NotFound;
  return fail(is_empty ? Code::NotFound : Code::Degraded,
              "the site has nothing to show yet: " + error.message);
}

Task<Response> get_file(Core* core, Request* request) {
  auto site = shown_site(core->sites(), *request);
  if (!site) co_return refuse_visibly(*request, site.error());
  const SiteTree& tree = *(*site)->tree;
  const SiteTree::Found found = tree.find(request->params[1]);
  if (found.kind == SiteTree::Kind::Redirect) co_return redirect(*request, **site);
  if (found.kind == SiteTree::Kind::Missing) {
    co_return co_await answer_missing(core, request, std::move(*site));
  }
  const Form form = choose(tree, found.file, *request->head);
  const auto loaded = core->loader().find({(*site)->generation, form.stored, form.variant});
  if (loaded) co_return kit::answer(*request, loaded);
  co_return co_await answer_miss(core, request, std::move(*site), form);
}

Task<Response> get_root(Core* core, Request* request) {
  const auto site = shown_site(core->sites(), *request);
  if (!site) co_return refuse_visibly(*request, site.error());
  co_return redirect(*request, **site);
}

Task<Response> get_no_site(Core*, Request* request) {
  co_return refuse_visibly(*request,
                           {Code::NotFound, "ask for /edge/sites/SITE/, or /edge/sites for all"});
}

std::string_view state_of(const Site& site) noexcept {
  if (!site.error) return "ready";
  return site.tree ? "stale" : "unavailable";
}

Value describe(const Site& site) {
  Value::Map map{{"site", site.name},
                 {"target", site.target},
                 {"source", site.is_added ? "added" : "ron.toml"},
                 {"state", std::string(state_of(site))},
                 {"path", "/edge/sites/" + site.name + "/"}};
  if (site.tree) {
    map.emplace("address", site.address.text());
    map.emplace("files", site.tree->files());
    map.emplace("bytes", site.tree->bytes());
  }
  if (site.missing.count > 0) {
    map.emplace("missing_files", site.missing.count);
    map.emplace("first_missing", site.missing.first);
  }
  if (site.version != 0) map.emplace("version", site.version);
  if (site.error) map.emplace("error", site.error->message);
  return map;
}

Task<Response> list_sites(Core* core, Request* request) {
  Value::Array sites;
  for (const auto& [name, site] : *core->sites().all()) sites.push_back(describe(*site));
  co_return kit::document(*request, 200, Value::Map{{"sites", std::move(sites)}});
}

Task<Response> add_site(Core* core, Request* request) {
  const auto value = co_await kit::read_document(request);
  if (!value) co_return refuse(*request, value.error());
  const auto fields = chain::Fields::of(*value, "the request", {"site", "target"});
  if (!fields) co_return refuse(*request, fields.error());
  auto name = fields->text("site", Book::kMostNameBytes);
  if (!name) co_return refuse(*request, name.error());
  auto target = fields->text("target", kMostTargetChars);
  if (!target) co_return refuse(*request, target.error());
  const auto changed = co_await core->sites().add(std::move(*name), std::move(*target),
                                                  operator_of(*request), request->deadline);
  if (!changed) co_return refuse(*request, changed.error());
  co_return kit::document(*request, changed->is_new ? 201 : 200, describe(*changed->site));
}

Task<Response> remove_site(Core* core, Request* request) {
  const auto changed = co_await core->sites().remove(std::string(request->params[0]),
                                                     operator_of(*request), request->deadline);
  if (!changed) co_return refuse(*request, changed.error());
  co_return kit::document(*request, 200, describe(*changed->site));
}

}  // namespace

void add_site_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .list(kSiteList, Access::read(), list_sites)
      .add(Method::Get, "/edge/sites/{site}", Access::read(), get_root)
      .add(Method::Get, "/edge/sites/{site}/{path...}", Access::read(), get_file)
      .add(Method::Get, "/edge/sites/{nothing...}", Access::read(), get_no_site);
}

void add_site_admin_routes(http::Router& router, Core& core) {
  const Access admin = Access::needs(Scope::kEdgeAdmin);
  kit::Routes(router, core)
      .add(Method::Post, "/admin/sites", admin, add_site)
      .add(Method::Delete, "/admin/sites/{site}", admin, remove_site);
}

}  // namespace ron::edge
