#include "http/response.h"

#include <utility>

#include "base/json.h"
#include "http/field_list.h"

namespace ron::http {

Response Response::json(int status, std::string body) {
  return text(status, std::move(body), "application/json");
}

Response Response::text(int status, std::string body, std::string_view content_type) {
  Response response(status);
  response.add("Content-Type", content_type);
  response.body = std::move(body);
  return response;
}

Response Response::events(std::unique_ptr<EventSource> source) {
  Response response(200);
  response.add("Content-Type", "text/event-stream");
  response.add("Cache-Control", "no-store");
  response.add("X-Accel-Buffering", "no");
  response.body = EventBody{std::move(source)};
  return response;
}

Response Response::error(const base::Error& error, const base::Ulid& corr_id) {
  const base::CodeInfo& code = base::info(error.code);
  const std::uint32_t retry_after =
      error.retry_after_s != 0 ? error.retry_after_s : (code.retry_helps ? 1U : 0U);
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("error").begin_object();
  json.key("code").value(code.name).key("message").value(error.message);
  json.key("corr_id").value(corr_id.text());
  if (retry_after > 0) json.key("retry_after").value(retry_after);
  json.key("details").begin_object();
  for (const auto& [key, value] : error.details) json.key(key).value(value);
  json.end_object().end_object().end_object();
  Response response = Response::json(code.status, std::move(body));
  response.error_code = code.name;
  if (retry_after > 0) response.add("Retry-After", std::to_string(retry_after));
  if (error.code == base::Code::Unauthorized) response.add("WWW-Authenticate", "Bearer");
  return response;
}

void Response::add(std::string_view name, std::string_view value) {
  if (!is_token(name) || !is_field_value(value)) return;
  lines.append(name).append(": ").append(value).append("\r\n");
}

base::ByteView Response::bytes() const noexcept {
  if (const auto* shared = std::get_if<SharedBody>(&body)) return shared->bytes;
  if (const auto* text = std::get_if<std::string>(&body)) return base::as_bytes(*text);
  return {};
}

std::optional<std::uint64_t> Response::content_length() const noexcept {
  if (const auto* sized = std::get_if<SizedBody>(&body)) return sized->length;
  if (std::holds_alternative<StreamedBody>(body) || std::holds_alternative<EventBody>(body)) {
    return std::nullopt;
  }
  return bytes().size();
}

}  // namespace ron::http
