// Freshness: whether a shared cache may keep an answer, for how long it may use the copy, and what
// a request has to say about that (RFC 9111). Pure functions over fields and times.
//
//   const CacheFields fields = read_cache_fields(kept, received_ms);
//   const Freshness freshness = judge(200, fields, {requested_ms, received_ms});
//   if (!freshness.storable) …                                  // serve it, keep nothing
//   switch (decide(freshness, wanted, clock.unix_ms())) { … }   // each time it is asked for
//
// Everything follows from the kept fields and the two times: whoever keeps those can judge anew
// after a restart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "http/cache_control.h"
#include "http/fields.h"
#include "http/head.h"

namespace ron::http {

// Which fields of a request an answer was chosen by (RFC 9110, 12.5.5).
struct Vary {
  bool any = false;                // `*`, or a list that breaks the grammar: nobody else's answer
  std::vector<std::string> names;  // lower case, sorted, each once

  // One line of the field; further lines add to the first.
  void add(std::string_view line);
};

// What the fields of an answer say to a cache.
struct CacheFields {
  CacheControl control;
  Vary vary;
  std::optional<std::int64_t> date_s{};
  std::optional<std::int64_t> last_modified_s{};
  std::optional<std::int64_t> expires_s{};  // a date that is none is the beginning of time (5.3)
  std::uint32_t age_s = 0;

  // Fields that say nothing to caches are passed over. `now_ms` when the answer came.
  void add(std::string_view name, std::string_view value, std::int64_t now_ms);
};

// Of any range of names and values: http::Field, or pairs of strings.
template <class Fields>
CacheFields read_cache_fields(const Fields& fields, std::int64_t received_ms) {
  CacheFields read;
  for (const auto& [name, value] : fields) read.add(name, value, received_ms);
  return read;
}

// By the wall clock, when the request left and when the answer's head was there.
struct ExchangeTimes {
  std::int64_t requested_ms = 0;
  std::int64_t received_ms = 0;
};

struct Freshness {
  bool storable = false;         // 3: a shared cache may keep it
  bool no_cache = false;         // each use needs the origin's word (5.2.2.4)
  bool must_revalidate = false;  // never used stale, whatever a request says (5.2.2.2, .8, .10)
  bool heuristic = false;        // its lifetime is a guess
  std::uint32_t lifetime_s = 0;
  std::int64_t received_ms = 0;
  std::int64_t born_ms = 0;  // when it left the origin: now minus its current age (4.2.3)
  std::optional<std::uint32_t> stale_if_error_s{};  // what the origin allows
};

// Heuristics (4.2.2): a tenth of the time since the last change, at most a day.
inline constexpr std::uint32_t kHeuristicShare = 10;
inline constexpr std::uint32_t kMaxHeuristicS = 24 * 60 * 60;

Freshness judge(int status, const CacheFields& fields, ExchangeTimes times) noexcept;

// 4.2.3, for Age. A clock that was set back makes nothing younger than at its arrival.
std::uint32_t current_age_s(const Freshness& freshness, std::int64_t now_ms) noexcept;
// Without regard to any request.
bool is_fresh(const Freshness& freshness, std::int64_t now_ms) noexcept;
// When it stops being fresh.
std::int64_t fresh_until_ms(const Freshness& freshness) noexcept;

// What the request says to caches; all lines of its Cache-Control, or else Pragma: no-cache.
RequestCacheControl request_cache_control(const FieldTable& head) noexcept;

enum class CopyUse : std::uint8_t {
  Fresh,       // may be sent
  Stale,       // past its time; may be sent since the request takes it so (max-stale)
  Revalidate,  // the origin has to be asked; only-if-cached: 504 instead
};
CopyUse decide(const Freshness& freshness, const RequestCacheControl& wanted,
               std::int64_t now_ms) noexcept;

// The origin cannot be asked, or answers with an error: may the copy be sent all the same? Bounded
// by what the origin says, else by what the request says, else by `default_for`; never if it
// must be revalidated, and not to a request that wants the origin's word or one that is younger.
bool may_serve_on_error(const Freshness& freshness, const RequestCacheControl& wanted,
                        base::Duration default_for, std::int64_t now_ms) noexcept;

// Whether the status alone lets an answer be kept without an explicit lifetime (RFC 9110, 15.1).
bool is_heuristically_cacheable(int status) noexcept;

}  // namespace ron::http
