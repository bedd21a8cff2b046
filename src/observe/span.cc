#include "observe/span.h"

#include "base/encoding.h"
#include "base/json.h"

namespace ron::observe {
namespace {

using base::JsonWriter;

// Numbers of opentelemetry-proto: SpanKind and Status.StatusCode.
constexpr int kServerKind = 2;
constexpr int kErrorStatus = 2;
// What the conventions call a method they do not know.
constexpr std::string_view kOtherMethod = "_OTHER";
constexpr std::string_view kOtherName = "HTTP";
constexpr int kServerError = 500;  // below it the server did what it should

// A span takes about this much of a document.
constexpr std::size_t kUsualBytes = 768;

void attribute(JsonWriter& json, std::string_view key, std::string_view text) {
  json.begin_object().key("key").value(key).key("value").begin_object();
  json.key("stringValue").value(text).end_object().end_object();
}

void attribute(JsonWriter& json, std::string_view key, int number) {
  json.begin_object().key("key").value(key).key("value").begin_object();
  json.key("intValue").value(std::to_string(number)).end_object().end_object();
}

std::string name_of(const Span& span) {
  std::string name(span.method.empty() ? kOtherName : span.method);
  if (!span.route.empty()) name.append(" ").append(span.route);
  return name;
}

void render(JsonWriter& json, const Span& span) {
  json.begin_object();
  json.key("traceId").value(base::to_hex(span.trace_id));
  json.key("spanId").value(base::to_hex(span.span_id));
  if (span.parent_id != SpanId{}) json.key("parentSpanId").value(base::to_hex(span.parent_id));
  json.key("name").value(name_of(span));
  json.key("kind").value(kServerKind);
  json.key("startTimeUnixNano").value(std::to_string(span.start_unix_ns));
  json.key("endTimeUnixNano").value(std::to_string(span.end_unix_ns));
  json.key("attributes").begin_array();
  attribute(json, "http.request.method", span.method.empty() ? kOtherMethod : span.method);
  if (!span.route.empty()) attribute(json, "http.route", span.route);
  attribute(json, "http.response.status_code", span.status);
  if (!span.error_code.empty()) attribute(json, "error.type", span.error_code);
  attribute(json, "ron.corr_id", span.corr_id.text());
  json.end_array();
  json.key("status").begin_object();
  if (span.status >= kServerError) json.key("code").value(kErrorStatus);
  json.end_object();
  json.end_object();
}

}  // namespace

std::string render_otlp(const SpanResource& resource, std::span<const Span> spans) {
  std::string out;
  out.reserve(kUsualBytes * (spans.size() + 1));
  JsonWriter json(out);
  json.begin_object().key("resourceSpans").begin_array().begin_object();
  json.key("resource").begin_object().key("attributes").begin_array();
  attribute(json, "service.name", resource.service);
  attribute(json, "service.version", resource.version);
  attribute(json, "service.instance.id", resource.instance);
  json.end_array().end_object();
  json.key("scopeSpans").begin_array().begin_object();
  json.key("scope").begin_object().key("name").value("ron.http").end_object();
  json.key("spans").begin_array();
  for (const Span& span : spans) render(json, span);
  json.end_array().end_object().end_array();
  json.end_object().end_array().end_object();
  return out;
}

}  // namespace ron::observe
