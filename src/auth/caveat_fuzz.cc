// Arbitrary text through every small parser of this folder: whatever is accepted prints to a text
// that means the same.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "auth/capability.h"
#include "base/rfc3339.h"

namespace {

using namespace ron::auth;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_caveat(std::string_view text) {
  const auto lenient = parse_caveat(text, UnknownScopes::kIgnore);
  const auto strict = parse_caveat(text, UnknownScopes::kRefuse);
  if (strict) {
    require(lenient == *strict);
    require(parse_caveat(print(*strict), UnknownScopes::kRefuse) == *strict);
  }
  if (lenient) {
    Grant once;
    once.narrow(*lenient);
    Grant twice = once;
    twice.narrow(*lenient);
    require(once == twice);
  }
}

void check_path(std::string_view text) {
  Grant grant;
  grant.narrow(PathPrefixCaveat{"/o"});
  const Request request{.scope = std::nullopt,
                        .method = "GET",
                        .path = text,
                        .body_bytes = std::nullopt,
                        .now_unix_s = 0};
  if (!grant.covers(request)) return;
  require(text == "/o" || text.starts_with("/o/"));
  require(text.find("/../") == std::string_view::npos && !text.ends_with("/.."));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = ron::base::as_text(std::as_bytes(std::span(data, size)));
  check_caveat(text);
  check_path(text);
  if (const auto time = ron::base::parse_rfc3339(text)) {
    require(ron::base::parse_rfc3339(ron::base::print_rfc3339(*time)) == *time);
  }
  if (const auto key = parse_key_file(text)) {
    require(parse_key_file(print_key_file(*key)) == *key);
  }
  if (const auto identifier = parse_token_identifier(text)) {
    const std::string start = ":" + identifier->key_id + ":" + identifier->token_id;
    const std::string tenancy = print(identifier->tenancy);
    require(text == (tenancy.empty() ? "v1" + start : "v2" + start + ":" + tenancy));
  }
  if (const auto bearer = parse_authorization_header(text)) {
    require(text.ends_with(*bearer) && bearer->find(' ') == std::string_view::npos);
  }
  return 0;
}
