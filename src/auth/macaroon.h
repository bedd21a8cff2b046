// Macaroon: a bearer token whose holder can add conditions but never remove one.
//
// Wire form is version 2 binary: the byte 2; the header [location] identifier EOS; each caveat as
// identifier EOS; EOS; the signature. A packet is a type, a length and that many bytes, both
// numbers base-128 little-endian; EOS is the single byte 0. The signature is an HMAC-SHA256 chain:
// the first link signs the identifier under a key derived from the root key, each caveat is signed
// under the signature before it.
//
// An immutable value: copy it freely, read it from any thread. Bounded: kMaxTokenBytes on the wire
// and kMaxCaveats. Only first-party caveats exist here; a token with a third-party caveat does not
// parse. Errors are Malformed; their messages never quote the token.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/result.h"

namespace ron::auth {

inline constexpr std::size_t kMaxTokenBytes = 8 * base::kKiB;
inline constexpr std::size_t kMaxTokenTextBytes = (kMaxTokenBytes + 2) / 3 * 4;
inline constexpr std::size_t kMaxCaveats = 32;
static_assert(kMaxTokenTextBytes < base::limits::kHeadBytes, "a token must fit a request head");

class Macaroon {
 public:
  static constexpr std::size_t kSignatureBytes = 32;
  using Signature = std::array<std::byte, kSignatureBytes>;

  // A token without conditions. `root_key` and `identifier` must not be empty; `location` is a hint
  // that is not signed and may be.
  static base::Result<Macaroon> mint(base::ByteView root_key, std::string_view identifier,
                                     std::string_view location);
  // This token with one more condition. Needs no key: that is the point of macaroons.
  [[nodiscard]] base::Result<Macaroon> attenuate(std::string_view caveat) const;

  // Accepts exactly what serialize() produces.
  static base::Result<Macaroon> parse(base::ByteView bytes);
  [[nodiscard]] std::vector<std::byte> serialize() const;

  // Base64url without padding; padding and the classic alphabet are accepted, stray bits are not.
  static base::Result<Macaroon> parse_text(std::string_view text);
  [[nodiscard]] std::string text() const;

  // Whether the signature chain starts from this key. Compares in constant time.
  [[nodiscard]] bool verify(base::ByteView root_key) const;
  // Fingerprints of the token as minted and after each caveat, this token's own last. A holder can
  // change a token's fingerprint by attenuating it, but not those of its ancestors, so a deny list
  // must look at all of them. Empty if the token does not verify under this key or a hash failed.
  [[nodiscard]] std::vector<std::string> lineage(base::ByteView root_key) const;

  [[nodiscard]] const std::string& location() const noexcept { return location_; }
  [[nodiscard]] const std::string& identifier() const noexcept { return identifier_; }
  [[nodiscard]] const std::vector<std::string>& caveats() const noexcept { return caveats_; }
  [[nodiscard]] const Signature& signature() const noexcept { return signature_; }

  // Same token. Not in constant time: verify() is the check against forgery.
  friend bool operator==(const Macaroon&, const Macaroon&) = default;

 private:
  Macaroon() = default;
  [[nodiscard]] std::vector<Signature> chain(base::ByteView root_key) const;
  [[nodiscard]] std::size_t wire_bytes() const noexcept;

  std::string location_;
  std::string identifier_;
  std::vector<std::string> caveats_;
  Signature signature_{};
};

// Eight hex digits that name a token in logs: a hash of its signature, useless for forging one.
std::string fingerprint(const Macaroon& token);
// Whether `text` has the form of a fingerprint: eight lower-case hex digits.
bool is_fingerprint(std::string_view text) noexcept;

}  // namespace ron::auth
