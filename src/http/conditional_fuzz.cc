// Any text as an entity-tag list: a strong match is also a weak one, nothing matches what is not
// there, and a whole request is judged consistently with its lists.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/conditional.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ron::http;
  const std::string_view list(reinterpret_cast<const char*>(data), size);
  const EntityTag current{"b3:aa", false};
  const bool strong = list_matches(list, current, TagMatch::Strong);
  const bool weak = list_matches(list, current, TagMatch::Weak);
  require(!strong || weak);
  require(!list_matches(list, std::nullopt, TagMatch::Weak));
  if (const auto tag = parse_entity_tag(list)) {
    require(tag->opaque.find('"') == std::string_view::npos);
    require(list_matches(list, *tag, TagMatch::Weak));
    require(list_matches(list, *tag, TagMatch::Strong) == !tag->weak);
  }

  const std::string text =
      "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: " + std::string(list) + "\r\n\r\n";
  RequestHead head;
  const HeadOutcome outcome = parse_head(text, head);
  if (outcome.progress != Progress::Done || outcome.consumed != text.size()) return 0;
  if (head.fields().size() != 2) return 0;
  require((evaluate(head, current) == Verdict::NotModified) == weak);
  return 0;
}
