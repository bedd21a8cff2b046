#include "services/edge/preview.h"

#include <array>
#include <string>
#include <utility>

#include "http/accept.h"
#include "http/selection.h"
#include "services/edge/error_page.h"
#include "services/kit/handlers.h"
#include "services/kit/representation.h"

namespace ron::edge {
namespace {

using base::Code;
using http::Coding;
using http::Request;
using http::Response;

constexpr std::string_view kPage = "preview.html";

// MapLibre sets styles through the object model, which style-src does not concern; it makes images
// of tiles through blob:, and its style sheet has icons as data:.
constexpr std::string_view kPolicyLines =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; worker-src 'self'; "
    "style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

// The page with what it has to know in place of {{pack}}, {{format}} and {{tiles}}. What is filled
// in is not looked at again.
std::string filled(std::string_view page, const PreviewedPack& pack) {
  const std::array<std::pair<std::string_view, std::string>, 3> values = {
      {{"{{pack}}", escape_html(pack.name)},
       {"{{format}}", escape_html(pack.format)},
       {"{{tiles}}", escape_html(pack.tiles)}}};
  std::string text;
  while (!page.empty()) {
    const std::size_t mark = page.find("{{");
    text += page.substr(0, mark);
    if (mark == std::string_view::npos) break;
    page.remove_prefix(mark);
    std::size_t taken = 2;
    std::string_view value = page.substr(0, taken);
    for (const auto& [name, known] : values) {
      if (!page.starts_with(name)) continue;
      taken = name.size();
      value = known;
    }
    text += value;
    page.remove_prefix(taken);
  }
  return text;
}

bool wants_html(const Request& request) noexcept {
  return request.head->get(http::KnownField::Accept).value_or("").find("text/html") !=
         std::string_view::npos;
}

Response without_preview(const Request& request) {
  return kit::refuse(request, {Code::NotFound, "this ron was built without the map preview"});
}

void add_page_lines(Response& response, const WebFile& page) {
  response.add("Content-Type", page.media_type);
  response.add("Cache-Control", "no-cache");
  response.add("Vary", "Accept");
  response.lines += kPolicyLines;
}

struct Variant {
  Coding coding;
  base::ByteView bytes;
};

// What the client likes best; among equals the smallest.
Variant best_of(const Request& request, const WebFile& file) noexcept {
  Variant best{Coding::Identity, file.plain};
  int most = http::coding_weight(*request.head, Coding::Identity);
  for (const Variant& each :
       {Variant{Coding::Gzip, file.gzip}, Variant{Coding::Brotli, file.brotli}}) {
    const int weight = http::coding_weight(*request.head, each.coding);
    if (each.bytes.empty() || weight == 0 || weight < most) continue;
    most = weight;
    best = each;
  }
  return best;
}

}  // namespace

Response preview_page(const Request& request, const WebFiles& files, const PreviewedPack& pack) {
  const WebFile* const page = files.find(kPage);
  if (page == nullptr) return without_preview(request);
  std::string text = filled(base::as_text(page->plain), pack);
  std::string tag(page->tag);
  tag.append("-").append(pack.format).append("-").append(pack.tiles);
  const http::Selection selection = http::select(*request.head, {tag, false}, text.size());
  Response response = kit::head_for(request, selection, text.size());
  if (!kit::describes_it(selection)) return response;
  response.add("ETag", '"' + tag + '"');
  add_page_lines(response, *page);
  if (selection.selects()) response.body = text.substr(selection.offset, selection.length);
  return response;
}

Response preview_refusal(const Request& request, const WebFiles& files, std::string_view name,
                         const base::Error& why) {
  const WebFile* const page = files.find(kPage);
  if (page == nullptr) return without_preview(request);
  Response response = kit::refuse(request, why);
  if (!wants_html(request)) return response;
  response.lines.clear();
  add_page_lines(response, *page);
  response.body = filled(base::as_text(page->plain), {.name = name});
  return response;
}

Response preview_file(const Request& request, const WebFiles& files, std::string_view name) {
  if (files.empty()) return without_preview(request);
  const WebFile* const file = name == kPage ? nullptr : files.find(name);
  if (file == nullptr) return kit::refuse(request, {Code::NotFound, "there is no such file"});
  const Variant variant = best_of(request, *file);
  std::string tag(file->tag);
  if (variant.coding != Coding::Identity) tag.append("-").append(coding_name(variant.coding));
  const http::Selection selection = http::select(*request.head, {tag, false}, variant.bytes.size());
  Response response = kit::head_for(request, selection, variant.bytes.size());
  if (!kit::describes_it(selection)) return response;
  response.add("Content-Type", file->media_type);
  if (variant.coding != Coding::Identity) {
    response.add("Content-Encoding", coding_name(variant.coding));
  }
  response.add("ETag", '"' + tag + '"');
  // Its name has its hash in it.
  response.add("Cache-Control", "public, max-age=31536000, immutable");
  response.add("Vary", "Accept-Encoding");
  response.lines += kPolicyLines;
  if (selection.selects()) {
    // Constants of the program: nobody has to keep them alive.
    response.body =
        http::SharedBody{.bytes = variant.bytes.subspan(selection.offset, selection.length)};
  }
  return response;
}

}  // namespace ron::edge
