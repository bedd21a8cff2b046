#include "cli/caveat_flags.h"

#include <chrono>
#include <utility>

#include "base/rfc3339.h"
#include "base/units.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;

base::Result<std::string> expires_text(std::string_view text, std::int64_t now_unix_s) {
  const auto when = parse_when(text, now_unix_s);
  if (!when) return fail(when.error());
  return base::print_rfc3339(*when);
}

base::Result<std::string> size_text(std::string_view text) {
  const auto size = base::parse_size(text);
  if (!size) return fail(size.error());
  return std::to_string(size->bytes);
}

base::Result<std::string> as_given(std::string_view text) { return std::string(text); }

}  // namespace

base::Result<std::int64_t> parse_when(std::string_view text, std::int64_t now_unix_s) {
  base::Result<std::int64_t> when = base::parse_rfc3339(text);
  if (const auto after = base::parse_duration(text)) {
    when = now_unix_s + std::chrono::duration_cast<std::chrono::seconds>(*after).count();
  }
  if (!when) {
    return fail(Code::Malformed, "write a time from now such as 24h, or 2030-01-31T12:00:00Z");
  }
  if (*when <= now_unix_s) return fail(Code::Malformed, "that moment has passed already");
  if (*when > base::kMaxUnixS) return fail(Code::Malformed, "that is beyond the year 9999");
  return when;
}

base::Result<std::vector<auth::Caveat>> caveats_of(const CaveatFlags& flags,
                                                   std::int64_t now_unix_s) {
  struct Given {
    const char* flag;
    const char* key;
    const std::string& text;
    base::Result<std::string> value;
  };
  const Given all[] = {
      {"--scope", "scope", flags.scope, as_given(flags.scope)},
      {"--tenant", "tenant", flags.tenant, as_given(flags.tenant)},
      {"--path-prefix", "path_prefix", flags.path_prefix, as_given(flags.path_prefix)},
      {"--method", "method", flags.method, as_given(flags.method)},
      {"--expires", "expires", flags.expires, expires_text(flags.expires, now_unix_s)},
      {"--max-bytes", "max_bytes", flags.max_bytes, size_text(flags.max_bytes)},
  };
  std::vector<auth::Caveat> caveats;
  for (const Given& given : all) {
    if (given.text.empty()) continue;
    const auto named = [&given](const base::Error& error) {
      return fail(Code::Malformed, std::string(given.flag) + ": " + error.message);
    };
    if (!given.value) return named(given.value.error());
    auto caveat = auth::parse_caveat(std::string(given.key) + " = " + *given.value,
                                     auth::UnknownScopes::kRefuse);
    if (!caveat) return named(caveat.error());
    caveats.push_back(std::move(*caveat));
  }
  return caveats;
}

}  // namespace ron::cli
