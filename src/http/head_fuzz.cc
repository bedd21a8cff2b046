// Any bytes as a request and as a response: no view leaves the buffer, framing is never ambiguous,
// and arrival in pieces changes nothing.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/field_list.h"
#include "http/head.h"
#include "http/response_head.h"

namespace {

using namespace ron::http;

void require(bool holds) {
  if (!holds) std::abort();
}

bool inside(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_message(const MessageHead& head, std::string_view text) {
  require(!(head.chunked && head.content_length));
  require(head.minor <= 1);
  for (const Field& field : head.fields()) {
    require(inside(field.name, text) && inside(field.value, text));
    require(is_token(field.name) && is_field_value(field.value));
    require(trim_ows(field.value) == field.value);
    require(head.find(field.name).has_value());
  }
}

void check_request(std::string_view text) {
  RequestHead head;
  const HeadOutcome whole = parse_head(text, head);
  if (whole.progress == Progress::Done) {
    const std::string_view consumed = text.substr(0, whole.consumed);
    require(consumed.ends_with("\r\n\r\n"));
    check_message(head, consumed);
    require(head.minor == 0 || !head.host.empty());
    require(head.target == "*" || head.target.starts_with('/'));
    require(is_target(head.target) && is_token(head.method_text));
  }
  HeadParser parser;
  RequestHead again;
  HeadOutcome outcome;
  for (std::size_t n = 1; n <= text.size() && outcome.progress == Progress::NeedMore; ++n) {
    outcome = parser.parse(text.substr(0, n), again);
  }
  require(outcome.progress == whole.progress && outcome.consumed == whole.consumed);
  if (whole.progress != Progress::Done) return;
  require(again.fields().size() == head.fields().size());
  require(again.content_length == head.content_length && again.chunked == head.chunked);
}

void check_response(std::string_view text, Method method) {
  ParsedResponse head;
  const HeadOutcome outcome = parse_response_head(text, method, head);
  if (outcome.progress != Progress::Done) return;
  check_message(head, text.substr(0, outcome.consumed));
  require(head.status >= 100 && head.status <= 599);
  require(head.body != BodyKind::UntilClose || !head.keep_alive);
  require(method != Method::Head || head.body == BodyKind::None);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_request(text);
  check_response(text, Method::Get);
  check_response(text, Method::Head);
  return 0;
}
