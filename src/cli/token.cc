#include "cli/token.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "auth/capability.h"
#include "auth/inspect.h"
#include "base/units.h"
#include "cli/key_files.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;

// A token and the white space people leave around it.
constexpr std::size_t kTokenInputBytes = auth::kMaxTokenTextBytes + 64;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::size_t last = text.find_last_not_of(kBlanks);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

base::Result<std::string> read_standard_input() {
  std::string text(kTokenInputBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), stdin));
  if (text.size() > kTokenInputBytes) {
    return fail(Code::Malformed, "standard input holds more than a token");
  }
  return text;
}

base::Result<std::string> read_token_text(const std::string& where) {
  if (where == "-") return read_standard_input();
  if (!where.empty()) {
    if (auth::Macaroon::parse_text(where)) {
      return fail(Code::Malformed,
                  "give a file or - instead of the token itself: others can see arguments");
    }
    return platform::posix::read_small_file(where, kTokenInputBytes);
  }
  for (const auto& [name, value] : platform::posix::environment()) {
    if (name == "RON_TOKEN") return value;
  }
  return fail(Code::Malformed, "no token: name a file, use - for standard input, or set RON_TOKEN");
}

// `23h59m` as people say it: the two largest units.
std::string span_text(std::int64_t seconds) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 4> kUnits = {
      {{86'400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}}};
  std::string out;
  int parts = 0;
  for (const auto& [unit, letter] : kUnits) {
    if (seconds < unit || parts == 2) continue;
    out += std::to_string(seconds / unit) + letter;
    seconds %= unit;
    ++parts;
  }
  return out.empty() ? "0s" : out;
}

std::string expiry_text(const auth::Macaroon& token, std::int64_t now) {
  std::optional<std::int64_t> end;
  for (const std::string& text : token.caveats()) {
    const auto caveat = auth::parse_caveat(text, auth::UnknownScopes::kIgnore);
    if (!caveat || !std::holds_alternative<auth::ExpiresCaveat>(*caveat)) continue;
    const std::int64_t at = std::get<auth::ExpiresCaveat>(*caveat).unix_s;
    end = std::min(end.value_or(at), at);
  }
  if (!end) return "never";
  return *end > now ? "in " + span_text(*end - now) : "expired " + span_text(now - *end) + " ago";
}

std::string verdict_text(const auth::Macaroon& token, const auth::Keyring& keyring) {
  const auto verified = auth::verify_token(keyring, token.text());
  return verified ? "good" : verified.error().message;
}

}  // namespace

base::Result<auth::Keyring> load_keyring(const KeySource& source) {
  std::vector<auth::RootKey> keys;
  if (source.directory.empty()) {
    auto one = read_key_file(source.file);
    if (!one) return fail(one.error());
    keys.push_back(std::move(one->key));
  } else {
    auto all = read_key_directory(source.directory);
    if (!all) return fail(all.error());
    for (KeyFile& each : *all) keys.push_back(std::move(each.key));
  }
  return keyring_of(std::move(keys), {});
}

base::Result<auth::Macaroon> parse_token(std::string_view text, const std::string& where) {
  auto token = auth::Macaroon::parse_text(trimmed(text));
  if (token) return token;
  return fail(Code::Malformed, "the token in " + where + ": " + token.error().message);
}

base::Result<auth::Macaroon> read_token(const std::string& where) {
  const auto text = read_token_text(where);
  if (!text) return fail(text.error());
  if (where.empty()) return parse_token(*text, "RON_TOKEN");
  return parse_token(*text, where == "-" ? "standard input" : "'" + where + "'");
}

base::Result<auth::Macaroon> mint(const auth::Keyring& keyring,
                                  const std::vector<auth::Caveat>& caveats,
                                  platform::Random& random, std::int64_t now_unix_s,
                                  auth::TenantChoice choice) {
  std::array<std::byte, auth::kNonceBytes> nonce{};
  random.fill(nonce);
  return auth::mint_token(keyring, caveats, nonce, now_unix_s, choice);
}

std::string describe(const auth::Macaroon& token, std::int64_t now_unix_s,
                     const auth::Keyring* keyring) {
  std::string out = auth::print(auth::inspect(token));
  out += "expires: " + expiry_text(token, now_unix_s) + "\n";
  if (keyring != nullptr) out += "signature: " + verdict_text(token, *keyring) + "\n";
  return out;
}

}  // namespace ron::cli
