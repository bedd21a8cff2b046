// Any text as fields that caches go by: bounds hold, a list that is said once more means the same,
// saying more only restricts, and a verdict keeps the order of its rules.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/freshness.h"
#include "http/http_date.h"

namespace {

using namespace ron::http;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::int64_t kNowMs = 1'790'000'000'000;

void check_fields(std::string_view name, std::string_view text) {
  CacheFields fields;
  fields.add(name, text, kNowMs);
  const Freshness once = judge(200, fields, {kNowMs - 10, kNowMs});
  require(once.lifetime_s <= kMaxDeltaS && once.born_ms <= kNowMs);
  require(!once.storable || !(fields.control.is_private || fields.vary.any));
  require(current_age_s(once, kNowMs - 1'000'000) == current_age_s(once, kNowMs));
  require(is_fresh(once, kNowMs) || decide(once, {}, kNowMs) == CopyUse::Revalidate);
  RequestCacheControl lenient;
  lenient.max_stale = kMaxDeltaS;
  if (decide(once, lenient, kNowMs) != CopyUse::Revalidate) require(!once.no_cache);
  fields.add(name, text, kNowMs);
  const Freshness twice = judge(200, fields, {kNowMs - 10, kNowMs});
  require(once.storable == twice.storable && once.lifetime_s == twice.lifetime_s);
  require(once.no_cache == twice.no_cache && once.must_revalidate == twice.must_revalidate);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view name :
       {"Cache-Control", "Vary", "Expires", "Date", "Last-Modified", "Age"}) {
    check_fields(name, text);
  }
  CacheControl control;
  control.add(text);
  require(control.max_age.value_or(0) <= kMaxDeltaS && control.s_maxage.value_or(0) <= kMaxDeltaS);
  const bool stored = !control.no_store;
  control.add("no-store");
  require(control.no_store);
  RequestCacheControl request;
  request.add(text);
  require(request.no_store || request.max_age.value_or(0) <= kMaxDeltaS);
  if (stored) require(!request.no_store);
  if (const auto at = parse_http_date(text, kNowMs / 1000)) {
    const auto printed = print_http_date(*at);
    require(parse_http_date({printed.data(), printed.size()}, 0) == *at);
  }
  return 0;
}
