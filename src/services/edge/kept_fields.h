// KeptFields: the fields of an origin's answer that are kept, and what else of an exchange changes
// what they say to caches: a 304, redirects on the way, and cookies.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/freshness.h"

namespace ron::edge {

// What describes the body, and what caches go by.
using KeptFields = std::vector<std::pair<std::string, std::string>>;

// The first field of that name, whatever its case; empty when absent.
std::string_view find_field(const KeptFields& fields, std::string_view name) noexcept;
// A 304 says what is new about the copy it confirms (RFC 9111, 3.2): its fields replace those of
// the same name. Age and Date are those of the 304, or none: they say when an answer was made.
void freshen(KeptFields& stored, const KeptFields& of_304);

// What an exchange says to caches besides the fields of its last answer.
//
// An answer is kept under the URL that was asked for. So it is kept for no longer than each
// redirect on the way to it is good, not at all if one of them may not be kept, and is chosen by
// whatever any of them was chosen by.
//
// An answer with Set-Cookie is somebody's own unless it says `public` or `s-maxage`, although the
// cookie itself is left out.
class Restraints {
 public:
  void add_redirect(int status, const http::CacheFields& fields, bool sets_cookie,
                    http::ExchangeTimes times);
  // The last answer has one.
  void note_cookie() noexcept { sets_cookie_ = true; }

  // Makes the fields of the last answer say all of it, to us and to whoever they are sent to.
  void apply(int status, KeptFields& fields, http::ExchangeTimes times) const;

 private:
  void add_vary(KeptFields& fields, const http::Vary& said) const;

  bool sets_cookie_ = false;
  // Of all redirects together.
  bool redirected_ = false;
  bool storable_ = true;
  bool no_cache_ = false;
  bool must_revalidate_ = false;
  std::int64_t good_until_ms_ = std::numeric_limits<std::int64_t>::max();
  std::optional<std::uint32_t> stale_if_error_s_{};
  std::vector<std::string> vary_{};
};

}  // namespace ron::edge
