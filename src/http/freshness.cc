#include "http/freshness.h"

#include <algorithm>
#include <array>
#include <limits>

#include "http/field_list.h"
#include "http/http_date.h"

namespace ron::http {
namespace {

constexpr std::int64_t kSecondMs = 1000;
constexpr std::int64_t kBeginningS = std::numeric_limits<std::int32_t>::min();

constexpr std::int64_t floor_s(std::int64_t ms) noexcept {
  return ms / kSecondMs - (ms % kSecondMs < 0 ? 1 : 0);
}

constexpr std::uint32_t clamp_delta(std::int64_t seconds) noexcept {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(seconds, 0, static_cast<std::int64_t>(kMaxDeltaS)));
}

// What 3 demands of the answer to a GET.
bool may_store(int status, const CacheFields& fields) noexcept {
  const CacheControl& control = fields.control;
  // Parts are of no use to who keeps wholes, and a 304 is about a copy that is there.
  if (status < 200 || status == 206 || status == 304) return false;
  const bool understood = is_heuristically_cacheable(status) || status == 302 || status == 307;
  if (control.must_understand ? !understood : control.no_store) return false;
  if (control.is_private || fields.vary.any) return false;
  return control.is_public || control.max_age || control.s_maxage || fields.expires_s ||
         is_heuristically_cacheable(status);
}

// 4.2.1 and 4.2.2.
void set_lifetime(int status, const CacheFields& fields, std::int64_t received_s,
                  Freshness& out) noexcept {
  const CacheControl& control = fields.control;
  const std::int64_t date_s = fields.date_s.value_or(received_s);
  if (control.s_maxage) {
    out.lifetime_s = *control.s_maxage;
  } else if (control.max_age) {
    out.lifetime_s = *control.max_age;
  } else if (fields.expires_s) {
    out.lifetime_s = clamp_delta(*fields.expires_s - date_s);
  } else if (fields.last_modified_s && (is_heuristically_cacheable(status) || control.is_public)) {
    out.heuristic = true;
    const std::uint32_t unchanged_s = clamp_delta(date_s - *fields.last_modified_s);
    out.lifetime_s = std::min(unchanged_s / kHeuristicShare, kMaxHeuristicS);
  }
}

std::int64_t age_ms(const Freshness& freshness, std::int64_t now_ms) noexcept {
  return std::max(now_ms, freshness.received_ms) - freshness.born_ms;
}

// For how long it will be fresh; negative: for how long it has not been.
std::int64_t left_ms(const Freshness& freshness, std::int64_t now_ms) noexcept {
  return std::int64_t{freshness.lifetime_s} * kSecondMs - age_ms(freshness, now_ms);
}

}  // namespace

bool is_heuristically_cacheable(int status) noexcept {
  constexpr std::array kStatuses = {200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501};
  return std::ranges::find(kStatuses, status) != kStatuses.end();
}

void Vary::add(std::string_view line) {
  ListReader reader(line);
  while (const auto element = reader.next()) {
    if (element->empty()) continue;
    if (*element == "*" || !is_token(*element)) {
      any = true;
      continue;
    }
    std::string name(*element);
    std::ranges::transform(name, name.begin(), lower);
    const auto at = std::ranges::lower_bound(names, name);
    if (at == names.end() || *at != name) names.insert(at, std::move(name));
  }
}

void CacheFields::add(std::string_view name, std::string_view value, std::int64_t now_ms) {
  const std::int64_t now_s = floor_s(now_ms);
  if (iequals(name, "Cache-Control")) control.add(value);
  if (iequals(name, "Vary")) vary.add(value);
  if (iequals(name, "Date")) date_s = parse_http_date(value, now_s);
  if (iequals(name, "Last-Modified")) last_modified_s = parse_http_date(value, now_s);
  // Given twice, the earlier one counts.
  if (iequals(name, "Expires")) {
    const std::int64_t at = parse_http_date(value, now_s).value_or(kBeginningS);
    expires_s = std::min(expires_s.value_or(at), at);
  }
  // A list means that somebody on the way erred: the first member counts (5.1).
  if (iequals(name, "Age")) {
    const std::string_view first = trim_ows(value.substr(0, value.find(',')));
    age_s = std::max(age_s, parse_delta_seconds(first).value_or(0));
  }
}

Freshness judge(int status, const CacheFields& fields, ExchangeTimes times) noexcept {
  Freshness out;
  const CacheControl& control = fields.control;
  out.storable = may_store(status, fields);
  out.no_cache = control.no_cache;
  // s-maxage means proxy-revalidate to a shared cache (5.2.2.10).
  out.must_revalidate =
      control.must_revalidate || control.proxy_revalidate || control.s_maxage.has_value();
  out.stale_if_error_s = control.stale_if_error;
  const std::int64_t received_s = floor_s(times.received_ms);
  set_lifetime(status, fields, received_s, out);
  // 4.2.3. Without a date, or with one to come, the answer is as old as its Age and its way.
  const std::int64_t apparent_s =
      fields.date_s ? std::max<std::int64_t>(0, received_s - *fields.date_s) : 0;
  const std::int64_t delay_ms = std::max<std::int64_t>(0, times.received_ms - times.requested_ms);
  const std::int64_t corrected_ms = std::int64_t{fields.age_s} * kSecondMs + delay_ms;
  out.received_ms = times.received_ms;
  out.born_ms = times.received_ms - std::max(apparent_s * kSecondMs, corrected_ms);
  return out;
}

std::uint32_t current_age_s(const Freshness& freshness, std::int64_t now_ms) noexcept {
  return clamp_delta(age_ms(freshness, now_ms) / kSecondMs);
}

std::int64_t fresh_until_ms(const Freshness& freshness) noexcept {
  return freshness.born_ms + std::int64_t{freshness.lifetime_s} * kSecondMs;
}

bool is_fresh(const Freshness& freshness, std::int64_t now_ms) noexcept {
  return left_ms(freshness, now_ms) > 0;
}

RequestCacheControl request_cache_control(const FieldTable& head) noexcept {
  RequestCacheControl control;
  bool given = false;
  bool pragma = false;
  for (const Field& field : head.fields()) {
    if (iequals(field.name, "Cache-Control")) {
      given = true;
      control.add(field.value);
    }
    pragma = pragma || (iequals(field.name, "Pragma") && iequals(field.value, "no-cache"));
  }
  if (!given && pragma) control.no_cache = true;
  return control;
}

CopyUse decide(const Freshness& freshness, const RequestCacheControl& wanted,
               std::int64_t now_ms) noexcept {
  if (freshness.no_cache || wanted.no_cache) return CopyUse::Revalidate;
  if (wanted.max_age && current_age_s(freshness, now_ms) > *wanted.max_age) {
    return CopyUse::Revalidate;
  }
  const std::int64_t left = left_ms(freshness, now_ms);
  if (left > 0) {
    const bool long_enough = left >= std::int64_t{wanted.min_fresh.value_or(0)} * kSecondMs;
    return long_enough ? CopyUse::Fresh : CopyUse::Revalidate;
  }
  if (freshness.must_revalidate || wanted.min_fresh || !wanted.max_stale) {
    return CopyUse::Revalidate;
  }
  const bool taken =
      *wanted.max_stale == kMaxDeltaS || -left <= std::int64_t{*wanted.max_stale} * kSecondMs;
  return taken ? CopyUse::Stale : CopyUse::Revalidate;
}

bool may_serve_on_error(const Freshness& freshness, const RequestCacheControl& wanted,
                        base::Duration default_for, std::int64_t now_ms) noexcept {
  if (freshness.no_cache || freshness.must_revalidate || wanted.no_cache) return false;
  if (wanted.max_age && current_age_s(freshness, now_ms) > *wanted.max_age) return false;
  const auto allowed =
      freshness.stale_if_error_s ? freshness.stale_if_error_s : wanted.stale_if_error;
  const base::Duration bound = allowed ? std::chrono::seconds(*allowed) : default_for;
  return std::chrono::milliseconds(-left_ms(freshness, now_ms)) <= bound;
}

}  // namespace ron::http
