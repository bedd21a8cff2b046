#include "services/index/answer.h"

#include <cmath>

#include "b3/hash.h"
#include "base/encoding.h"
#include "base/json.h"
#include "base/rfc3339.h"
#include "http/conditional.h"
#include "services/kit/handlers.h"

namespace ron::index {
namespace {

// A representation says where it comes from, so two of the same answer differ: the tag is weak.
std::string tag_of(const Answer& answer) {
  std::string all = answer.key + '\n' + answer.address.text() + '\n' +
                    std::to_string(answer.version.value_or(0)) + '\n';
  if (answer.manifest) {
    all += std::to_string(answer.manifest->entries) + ' ' + std::to_string(answer.manifest->length);
  }
  for (const Provider& provider : answer.providers) {
    all += '\n' + provider.record.url + ' ' + std::to_string(provider.record.seq) + ' ';
    all += base::to_hex(provider.record.node.bytes);
  }
  constexpr std::size_t kTagChars = 32;
  return base::to_hex(b3::hash(base::as_bytes(all)).digest()).substr(0, kTagChars);
}

std::string body_of(const Answer& answer, Source source) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  json.key("key").value(answer.key);
  json.key("address").value(answer.address.text());
  if (answer.version) json.key("version").value(*answer.version);
  json.key("manifest");
  if (answer.manifest) {
    json.begin_object();
    json.key("entries").value(answer.manifest->entries);
    json.key("length").value(answer.manifest->length);
    json.end_object();
  } else {
    json.null();
  }
  json.key("providers").begin_array();
  for (const Provider& provider : answer.providers) append(json, provider);
  json.end_array();
  json.key("source").value(name(source));
  json.key("hedged").value(answer.is_hedged);
  if (!answer.winner.empty()) json.key("winner").value(answer.winner);
  json.end_object();
  return out + "\n";
}

std::string lines_of(std::string_view tag) {
  return "Content-Type: application/json\r\nETag: W/\"" + std::string(tag) +
         "\"\r\nCache-Control: no-cache\r\n";
}

}  // namespace

std::string_view name(Source source) noexcept {
  switch (source) {
    case Source::Cache:
      return "cache";
    case Source::Store:
      return "store";
    case Source::Dht:
      return "dht";
    case Source::Peer:
      return "peer";
    case Source::Static:
      return "static";
  }
  return "unknown";
}

void append(base::JsonWriter& json, const Provider& provider) {
  const catalog::ProviderRecord& record = provider.record;
  // More digits than that say nothing.
  constexpr double kDigits = 1000;
  json.begin_object();
  json.key("url").value(record.url);
  json.key("node");
  if (record.node == auth::PublicKey()) {
    json.null();  // of the static list: nobody has signed
  } else {
    json.value(base::to_base64(record.node.bytes));
  }
  json.key("region").value(record.region);
  json.key("score").value(std::round(provider.score * kDigits) / kDigits);
  json.key("seen_at").value(base::print_rfc3339(provider.seen_ms / 1000));
  json.key("expires_at")
      .value(base::print_rfc3339(static_cast<std::int64_t>(record.expires_ms / 1000)));
  json.key("source").value(name(provider.source));
  if (provider.latency_ms) json.key("latency_ms").value(*provider.latency_ms);
  json.end_object();
}

void render(Answer& answer) {
  if (!answer.is_found) return;
  answer.tag = tag_of(answer);
  answer.header_lines = lines_of(answer.tag);
  answer.body = body_of(answer, Source::Cache);
}

http::Response respond(const http::Request& request, const AnswerPtr& answer, bool from_cache) {
  if (!answer->is_found) {
    return kit::refuse(
        request,
        base::Error(base::Code::NotFound,
                    "'" + answer->key + "' was not found: no name and no provider is known"));
  }
  const http::EntityTag tag{answer->tag, true};
  const bool is_known = http::evaluate(*request.head, tag) == http::Verdict::NotModified;
  http::Response response(is_known ? 304 : 200);
  response.prepared_lines = answer->header_lines;
  response.owner = answer;
  if (is_known) return response;
  if (from_cache) {
    response.body = http::SharedBody{.bytes = base::as_bytes(answer->body)};
  } else {
    response.body = body_of(*answer, answer->source);
  }
  return response;
}

}  // namespace ron::index
