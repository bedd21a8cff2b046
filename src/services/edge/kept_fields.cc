#include "services/edge/kept_fields.h"

#include <algorithm>

#include "http/field_list.h"

namespace ron::edge {
namespace {

using http::CacheControl;
using http::CacheFields;

constexpr std::int64_t kSecondMs = 1000;

void erase_field(KeptFields& fields, std::string_view name) {
  std::erase_if(fields, [name](const auto& field) { return http::iequals(field.first, name); });
}

// With a cookie, and without a word that it is for all the same.
bool is_own(const CacheControl& control) noexcept {
  return !control.is_public && !control.s_maxage;
}

// A redirect that says nothing of its lifetime holds for this request (RFC 9110, 15.4.3), unless it
// is permanent. The s-maxage of a redirect only makes it shorter: clients get the same line.
std::uint32_t lifetime_s(int status, const CacheFields& fields,
                         const http::Freshness& judged) noexcept {
  const CacheControl& control = fields.control;
  const bool says_it = control.max_age || control.s_maxage || fields.expires_s;
  if (says_it) return std::min(judged.lifetime_s, control.max_age.value_or(judged.lifetime_s));
  return status == 301 || status == 308 ? http::kMaxHeuristicS : 0;
}

std::string joined(const std::vector<std::string>& elements) {
  std::string text;
  for (const std::string& element : elements) {
    if (!text.empty()) text += ", ";
    text += element;
  }
  return text;
}

}  // namespace

std::string_view find_field(const KeptFields& fields, std::string_view name) noexcept {
  const auto found = std::ranges::find_if(
      fields, [name](const auto& field) { return http::iequals(field.first, name); });
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

void freshen(KeptFields& stored, const KeptFields& of_304) {
  erase_field(stored, "Age");
  erase_field(stored, "Date");
  std::erase_if(stored, [&](const auto& field) {
    return std::ranges::any_of(
        of_304, [&](const auto& newer) { return http::iequals(newer.first, field.first); });
  });
  stored.insert(stored.end(), of_304.begin(), of_304.end());
}

void Restraints::add_redirect(int status, const CacheFields& fields, bool sets_cookie,
                              http::ExchangeTimes times) {
  const CacheControl& control = fields.control;
  const http::Freshness judged = http::judge(status, fields, times);
  redirected_ = true;
  // As a 200 would be judged: one that says nothing may be kept, for no time at all.
  const bool may_be_kept = http::judge(200, fields, times).storable;
  storable_ = storable_ && may_be_kept && !(sets_cookie && is_own(control));
  no_cache_ = no_cache_ || judged.no_cache;
  must_revalidate_ = must_revalidate_ || judged.must_revalidate;
  const std::int64_t lasts_ms = std::int64_t{lifetime_s(status, fields, judged)} * kSecondMs;
  good_until_ms_ = std::min(good_until_ms_, judged.born_ms + lasts_ms);
  if (judged.stale_if_error_s) {
    stale_if_error_s_ =
        std::min(stale_if_error_s_.value_or(http::kMaxDeltaS), *judged.stale_if_error_s);
  }
  vary_.insert(vary_.end(), fields.vary.names.begin(), fields.vary.names.end());
}

void Restraints::add_vary(KeptFields& fields, const http::Vary& said) const {
  std::vector<std::string> missing;
  for (const std::string& name : vary_) {
    const bool is_there = std::ranges::find(said.names, name) != said.names.end() ||
                          std::ranges::find(missing, name) != missing.end();
    if (!is_there) missing.push_back(name);
  }
  if (!missing.empty()) fields.emplace_back("Vary", joined(missing));
}

void Restraints::apply(int status, KeptFields& fields, http::ExchangeTimes times) const {
  const CacheFields said = http::read_cache_fields(fields, times.received_ms);
  const CacheControl& control = said.control;
  const bool is_someones = sets_cookie_ && is_own(control) && !control.is_private;
  if (is_someones) fields.emplace_back("Cache-Control", "private");
  if (!redirected_) return;
  add_vary(fields, said.vary);
  const http::Freshness own = http::judge(status, said, times);
  const std::int64_t left_ms = std::max<std::int64_t>(0, good_until_ms_ - own.born_ms);
  const auto allowed_s = static_cast<std::uint32_t>(
      std::min<std::int64_t>(left_ms / kSecondMs, std::int64_t{http::kMaxDeltaS}));
  const std::uint32_t stale_s = std::min(own.stale_if_error_s.value_or(http::kMaxDeltaS),
                                         stale_if_error_s_.value_or(http::kMaxDeltaS));
  const bool says_it_all = storable_ && (own.no_cache || !no_cache_) &&
                           (own.must_revalidate || !must_revalidate_) &&
                           std::max(own.lifetime_s, control.max_age.value_or(0)) <= allowed_s &&
                           stale_s == own.stale_if_error_s.value_or(http::kMaxDeltaS);
  if (says_it_all) return;

  std::vector<std::string> directives;
  const bool no_store = !storable_ || (control.no_store && !control.must_understand);
  const bool must_revalidate =
      must_revalidate_ || control.must_revalidate || control.proxy_revalidate;
  if (no_store) directives.emplace_back("no-store");
  if (control.is_private || is_someones) directives.emplace_back("private");
  if (own.no_cache || no_cache_) directives.emplace_back("no-cache");
  if (must_revalidate) directives.emplace_back("must-revalidate");
  if (control.no_transform) directives.emplace_back("no-transform");
  const std::uint32_t lasts_s = std::min(own.lifetime_s, allowed_s);
  directives.push_back("max-age=" +
                       std::to_string(std::min(lasts_s, control.max_age.value_or(lasts_s))));
  if (control.s_maxage) directives.push_back("s-maxage=" + std::to_string(lasts_s));
  if (stale_s != http::kMaxDeltaS) {
    directives.push_back("stale-if-error=" + std::to_string(stale_s));
  }
  erase_field(fields, "Cache-Control");
  erase_field(fields, "Expires");
  fields.emplace_back("Cache-Control", joined(directives));
}

}  // namespace ron::edge
