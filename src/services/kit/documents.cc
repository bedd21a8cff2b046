#include "services/kit/documents.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "http/accept.h"
#include "http/conditional.h"
#include "http/field_list.h"
#include "http/uri.h"
#include "services/kit/handlers.h"

namespace ron::kit {
namespace {

using base::Code;
using base::fail;
using base::Result;
using http::KnownField;
using http::Request;
using http::Response;
using platform::Task;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kCbor = "application/cbor";

std::string_view without_parameters(std::string_view type) noexcept {
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

// How much a list of media ranges wants the type: what names it most exactly counts (RFC 9110
// §12.5.1).
int weight_of(std::string_view accept, std::string_view type) noexcept {
  int weight = 0;
  int exactness = 0;
  while (!accept.empty()) {
    const std::size_t end = std::min(accept.find(','), accept.size());
    const std::string_view range = accept.substr(0, end);
    accept.remove_prefix(std::min(end + 1, accept.size()));
    const std::size_t semicolon = std::min(range.find(';'), range.size());
    const std::string_view name = http::trim_ows(range.substr(0, semicolon));
    const int exact = http::iequals(name, type)              ? 3
                      : http::iequals(name, "application/*") ? 2
                      : name == "*/*"                        ? 1
                                                             : 0;
    if (exact <= exactness) continue;
    exactness = exact;
    weight = http::weight_in(range.substr(std::min(semicolon + 1, range.size())));
  }
  return weight;
}

}  // namespace

// The one with the higher weight; JSON if they are equal, and if neither is wanted.
bool wants_cbor(const Request& request) noexcept {
  const auto accept = request.head->get(KnownField::Accept);
  if (!accept) return false;
  return weight_of(*accept, kCbor) > weight_of(*accept, kJson);
}

Task<Result<base::Value>> read_document(Request* request) {
  const std::string_view type =
      without_parameters(request->head->get(KnownField::ContentType).value_or(kJson));
  const bool is_cbor = http::iequals(type, kCbor);
  // What curl -d says when it is told nothing else.
  const bool is_json =
      http::iequals(type, kJson) || http::iequals(type, "application/x-www-form-urlencoded");
  if (!is_cbor && !is_json) {
    co_return fail(Code::UnsupportedMedia, "send application/json or application/cbor");
  }
  const Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return fail(body.error());
  co_return is_cbor ? base::decode_cbor(body->view())
                    : base::parse_json(base::as_text(body->view()));
}

Response document(const Request& request, int status, const base::Value& value) {
  if (!wants_cbor(request)) return Response::json(status, base::print_json(value) + "\n");
  return Response::text(status, base::encode_cbor(value), kCbor);
}

std::string_view content_type(bool is_cbor) noexcept { return is_cbor ? kCbor : kJson; }

Response tagged_head(const Request& request, std::string_view tag, Lasting lasting) {
  // One tag for each representation.
  const std::string own = std::string(tag) + (wants_cbor(request) ? ";cbor" : "");
  const http::EntityTag current{own, false};
  const bool is_known = http::evaluate(*request.head, current) == http::Verdict::NotModified;
  Response response(is_known ? 304 : 200);
  response.add("ETag", "\"" + own + "\"");
  response.add("Vary", "Accept");
  response.add("Cache-Control",
               lasting == Lasting::Immutable ? "public, max-age=31536000, immutable" : "no-cache");
  return response;
}

Response tagged_document(const Request& request, std::string_view tag, Lasting lasting,
                         const base::Value& value) {
  Response response = tagged_head(request, tag, lasting);
  if (response.status == 304) return response;
  Response whole = document(request, 200, value);
  whole.lines += response.lines;
  return whole;
}

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return number;
}

Result<std::optional<std::uint64_t>> query_number(const Request& request, std::string_view name) {
  if (request.query.empty()) return std::nullopt;
  http::UriScratch scratch{};
  const auto wrong = [name] {
    return fail(Code::Malformed, std::string(name) + " in the query must be a number, once");
  };
  const auto text = http::find_param(request.query, name, scratch);
  if (!text) return wrong();
  if (!*text) return std::nullopt;
  const auto number = parse_number(**text);
  if (!number) return wrong();
  return number;
}

Result<std::optional<std::string>> query_text(const Request& request, std::string_view name,
                                              std::size_t most_bytes) {
  http::UriScratch scratch{};
  const auto text = http::find_param(request.query, name, scratch);
  if (!text) {
    return fail(Code::Malformed, std::string(name) + " in the query must be a text, once");
  }
  if (!*text) return std::nullopt;
  if ((*text)->size() > most_bytes) {
    return fail(Code::Malformed, std::string(name) + " in the query is too long");
  }
  return std::string(**text);
}

}  // namespace ron::kit
