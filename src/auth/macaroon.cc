#include "auth/macaroon.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "auth/digest.h"
#include "base/encoding.h"

namespace ron::auth {
namespace {

using base::as_bytes;
using base::ByteView;
using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kKeyGenerator = "macaroons-key-generator";
constexpr std::byte kVersion{2};
constexpr std::size_t kFingerprintDigits = 8;

enum class Packet : std::uint8_t {
  kEndOfSection = 0,
  kLocation = 1,
  kIdentifier = 2,
  kVerificationId = 4,
  kSignature = 6,
};

// Two base-128 digits reach 16383, beyond any length a token may have.
constexpr std::size_t kTwoDigitLength = 128;
static_assert(kMaxTokenBytes < kTwoDigitLength * kTwoDigitLength);

constexpr std::size_t packet_bytes(std::size_t length) {
  return 1 + (length < kTwoDigitLength ? 1 : 2) + length;
}

void append(std::vector<std::byte>& out, Packet type, ByteView content) {
  out.push_back(static_cast<std::byte>(type));
  if (content.size() >= kTwoDigitLength) {
    out.push_back(static_cast<std::byte>((content.size() & 127U) | 128U));
    out.push_back(static_cast<std::byte>(content.size() >> 7U));
  } else {
    out.push_back(static_cast<std::byte>(content.size()));
  }
  out.insert(out.end(), content.begin(), content.end());
}

// Takes packets from the front of a token.
class Reader {
 public:
  explicit Reader(ByteView bytes) : rest_(bytes) {}

  [[nodiscard]] bool at(Packet type) const {
    return !rest_.empty() && rest_.front() == static_cast<std::byte>(type);
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  bool skip(std::byte expected) {
    if (rest_.empty() || rest_.front() != expected) return false;
    rest_ = rest_.subspan(1);
    return true;
  }
  bool end_section() { return skip(static_cast<std::byte>(Packet::kEndOfSection)); }

  // The content of the next packet if it is of this type and not empty.
  std::optional<ByteView> take(Packet type) {
    if (!skip(static_cast<std::byte>(type))) return std::nullopt;
    const auto length = take_length();
    if (!length || *length == 0 || *length > rest_.size()) return std::nullopt;
    const ByteView content = rest_.first(*length);
    rest_ = rest_.subspan(*length);
    return content;
  }

 private:
  // Only the shortest encoding is accepted, so that a token has exactly one wire form.
  std::optional<std::size_t> take_length() {
    if (rest_.empty()) return std::nullopt;
    const auto low = static_cast<std::size_t>(rest_[0]);
    if (low < kTwoDigitLength) {
      rest_ = rest_.subspan(1);
      return low;
    }
    if (rest_.size() < 2) return std::nullopt;
    const auto high = static_cast<std::size_t>(rest_[1]);
    if (high == 0 || high >= kTwoDigitLength) return std::nullopt;
    rest_ = rest_.subspan(2);
    return (high << 7U) | (low & 127U);
  }

  ByteView rest_;
};

std::unexpected<base::Error> malformed(const char* why) {
  return fail(Code::Malformed, std::string("not a token: ") + why);
}

std::string to_string(ByteView bytes) { return std::string(base::as_text(bytes)); }

std::optional<Digest> first_signature(ByteView root_key, std::string_view identifier) {
  if (root_key.empty()) return std::nullopt;
  const auto derived = hmac_sha256(as_bytes(kKeyGenerator), root_key);
  if (!derived) return std::nullopt;
  return hmac_sha256(*derived, as_bytes(identifier));
}

std::optional<std::string> fingerprint_of(const Macaroon::Signature& signature) {
  const auto digest = sha256(signature);
  if (!digest) return std::nullopt;
  return base::to_hex(ByteView(*digest).first(kFingerprintDigits / 2));
}

}  // namespace

Result<Macaroon> Macaroon::mint(ByteView root_key, std::string_view identifier,
                                std::string_view location) {
  if (root_key.empty()) return fail(Code::Malformed, "the root key is empty");
  if (identifier.empty()) return fail(Code::Malformed, "a token needs an identifier");
  if (identifier.size() + location.size() > kMaxTokenBytes) {
    return fail(Code::Malformed, "the token would be too large");
  }
  Macaroon token;
  token.location_ = location;
  token.identifier_ = identifier;
  if (token.wire_bytes() > kMaxTokenBytes) {
    return fail(Code::Malformed, "the token would be too large");
  }
  const auto signature = first_signature(root_key, identifier);
  if (!signature) return fail(Code::Internal, "HMAC-SHA256 is not available");
  token.signature_ = *signature;
  return token;
}

Result<Macaroon> Macaroon::attenuate(std::string_view caveat) const {
  if (caveat.empty()) return fail(Code::Malformed, "a caveat must not be empty");
  if (caveats_.size() >= kMaxCaveats) {
    return fail(Code::Malformed,
                "a token carries at most " + std::to_string(kMaxCaveats) + " caveats");
  }
  if (caveat.size() > kMaxTokenBytes ||
      wire_bytes() + packet_bytes(caveat.size()) + 1 > kMaxTokenBytes) {
    return fail(Code::Malformed, "the token would be too large");
  }
  const auto signature = hmac_sha256(signature_, as_bytes(caveat));
  if (!signature) return fail(Code::Internal, "HMAC-SHA256 is not available");
  Macaroon narrower = *this;
  narrower.caveats_.emplace_back(caveat);
  narrower.signature_ = *signature;
  return narrower;
}

Result<Macaroon> Macaroon::parse(ByteView bytes) {
  if (bytes.size() > kMaxTokenBytes) return malformed("too large");
  Reader reader(bytes);
  if (!reader.skip(kVersion)) return malformed("not macaroon version 2");

  Macaroon token;
  if (reader.at(Packet::kLocation)) {
    const auto location = reader.take(Packet::kLocation);
    if (!location) return malformed("bad location");
    token.location_ = to_string(*location);
  }
  const auto identifier = reader.take(Packet::kIdentifier);
  if (!identifier || !reader.end_section()) return malformed("bad identifier");
  token.identifier_ = to_string(*identifier);

  while (!reader.end_section()) {
    if (token.caveats_.size() == kMaxCaveats) return malformed("too many caveats");
    // Only third-party caveats have a location, and it would not be signed.
    if (reader.at(Packet::kLocation)) return malformed("third-party caveats are not accepted");
    const auto caveat = reader.take(Packet::kIdentifier);
    if (!caveat) return malformed("bad caveat");
    if (reader.at(Packet::kVerificationId)) {
      return malformed("third-party caveats are not accepted");
    }
    if (!reader.end_section()) return malformed("bad caveat");
    token.caveats_.push_back(to_string(*caveat));
  }

  const auto signature = reader.take(Packet::kSignature);
  if (!signature || signature->size() != kSignatureBytes) return malformed("bad signature packet");
  if (!reader.at_end()) return malformed("bytes after its end");
  std::ranges::copy(*signature, token.signature_.begin());
  return token;
}

std::size_t Macaroon::wire_bytes() const noexcept {
  std::size_t total = 1 + packet_bytes(identifier_.size()) + 1;
  if (!location_.empty()) total += packet_bytes(location_.size());
  for (const std::string& caveat : caveats_) total += packet_bytes(caveat.size()) + 1;
  return total + 1 + packet_bytes(kSignatureBytes);
}

std::vector<std::byte> Macaroon::serialize() const {
  constexpr auto kEnd = static_cast<std::byte>(Packet::kEndOfSection);
  std::vector<std::byte> out;
  out.reserve(wire_bytes());
  out.push_back(kVersion);
  if (!location_.empty()) append(out, Packet::kLocation, as_bytes(location_));
  append(out, Packet::kIdentifier, as_bytes(identifier_));
  out.push_back(kEnd);
  for (const std::string& caveat : caveats_) {
    append(out, Packet::kIdentifier, as_bytes(caveat));
    out.push_back(kEnd);
  }
  out.push_back(kEnd);
  append(out, Packet::kSignature, signature_);
  return out;
}

Result<Macaroon> Macaroon::parse_text(std::string_view text) {
  if (text.size() > kMaxTokenTextBytes) return malformed("too large");
  if (text.ends_with('=')) {
    if (text.size() % 4 != 0) return malformed("bad base64 padding");
    text.remove_suffix(text.ends_with("==") ? 2 : 1);
  }
  std::string canonical(text);
  std::ranges::replace(canonical, '+', '-');
  std::ranges::replace(canonical, '/', '_');
  const auto bytes = base::from_base64(canonical);
  // The decoder ignores the unused low bits of the last digit; a token must not have two spellings.
  if (!bytes || base::to_base64url(*bytes) != canonical) return malformed("bad base64");
  return parse(*bytes);
}

std::string Macaroon::text() const { return base::to_base64url(serialize()); }

// The signatures of the token as minted and after each caveat; empty if there is no key or a hash
// failed.
std::vector<Macaroon::Signature> Macaroon::chain(ByteView root_key) const {
  auto link = first_signature(root_key, identifier_);
  if (!link) return {};
  std::vector<Signature> links;
  links.reserve(caveats_.size() + 1);
  links.push_back(*link);
  for (const std::string& caveat : caveats_) {
    link = hmac_sha256(*link, as_bytes(caveat));
    if (!link) return {};
    links.push_back(*link);
  }
  return links;
}

bool Macaroon::verify(ByteView root_key) const {
  const auto links = chain(root_key);
  return !links.empty() && equal_in_constant_time(links.back(), signature_);
}

std::vector<std::string> Macaroon::lineage(ByteView root_key) const {
  const auto links = chain(root_key);
  if (links.empty() || !equal_in_constant_time(links.back(), signature_)) return {};
  std::vector<std::string> prints;
  prints.reserve(links.size());
  for (const Signature& link : links) {
    auto print = fingerprint_of(link);
    if (!print) return {};
    prints.push_back(std::move(*print));
  }
  return prints;
}

std::string fingerprint(const Macaroon& token) {
  return fingerprint_of(token.signature()).value_or(std::string(kFingerprintDigits, '0'));
}

bool is_fingerprint(std::string_view text) noexcept {
  return is_lower_hex(text, kFingerprintDigits);
}

}  // namespace ron::auth
