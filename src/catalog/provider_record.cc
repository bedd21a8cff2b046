#include "catalog/provider_record.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "b3/hash.h"
#include "base/cbor.h"
#include "base/encoding.h"

namespace ron::catalog {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kSignedPrefix = "ron-provider/v1\n";
constexpr std::string_view kLanePrefix = "ron-lane/v1";
constexpr std::size_t kLaneKeyBytes = 20;
constexpr std::uint64_t kFields = 7;

// Everything but url and region has a fixed size; a head is 9 bytes at most, the keys are 31.
static_assert(kMaxProviderUrlBytes + kMaxRegionBytes + base::ObjectId::kBytes +
                  auth::PublicKey::kBytes + std::tuple_size_v<auth::Signature> + 31 +
                  (2 * kFields + 1) * 9 <=
              kMaxProviderRecordBytes);

enum class WithSignature : bool { No, Yes };

// The keys in the order of deterministic CBOR: shorter ones first.
void write(std::string& out, const ProviderRecord& record, WithSignature with) {
  const bool with_sig = with == WithSignature::Yes;
  base::CborWriter cbor(out);
  cbor.map(with_sig ? kFields : kFields - 1);
  cbor.key("seq").unsigned_number(record.seq);
  if (with_sig) cbor.key("sig").bytes(record.sig);
  cbor.key("url").text(record.url);
  cbor.key("addr").bytes(record.addr.digest());
  cbor.key("node").bytes(record.node.bytes);
  cbor.key("region").text(record.region);
  cbor.key("expires").unsigned_number(record.expires_ms);
  assert(cbor.complete());
}

bool is_provider_url(std::string_view url) noexcept {
  if (url.size() > kMaxProviderUrlBytes) return false;
  if (!std::ranges::all_of(url, [](char c) { return c > ' ' && c < '\x7F'; })) return false;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    const std::string_view rest = url.substr(scheme.size());
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    // A port alone is no host, and what stands before an '@' would be a credential.
    return !authority.empty() && authority.front() != ':' && !authority.contains('@');
  }
  return false;
}

bool is_region(std::string_view region) noexcept {
  return region.size() <= kMaxRegionBytes && std::ranges::all_of(region, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

Result<void> check(const ProviderRecord& record) {
  Result<void> sound = check_provider_url(record.url);
  return sound ? check_region(record.region) : sound;
}

}  // namespace

Result<void> check_provider_url(std::string_view url) {
  if (is_provider_url(url)) return {};
  return fail(Code::Malformed,
              "the url of a provider record is not http:// or https:// and a host, of at most " +
                  std::to_string(kMaxProviderUrlBytes) + " printable characters");
}

Result<void> check_region(std::string_view region) {
  if (is_region(region)) return {};
  return fail(Code::Malformed, "the region of a provider record is not at most " +
                                   std::to_string(kMaxRegionBytes) + " of a-z 0-9 -");
}

std::string encode(const ProviderRecord& record) {
  assert(check(record));
  std::string out;
  write(out, record, WithSignature::Yes);
  return out;
}

Result<ProviderRecord> decode_provider_record(base::ByteView bytes) {
  if (bytes.size() > kMaxProviderRecordBytes) {
    return fail(Code::Malformed, "a provider record has at most " +
                                     std::to_string(kMaxProviderRecordBytes) + " bytes");
  }
  base::CborReader cbor(bytes);
  ProviderRecord record;
  if (cbor.map() != kFields) cbor.refuse("this is not a provider record");
  cbor.key("seq");
  record.seq = cbor.unsigned_number();
  cbor.key("sig");
  cbor.bytes(record.sig);
  cbor.key("url");
  record.url = cbor.text();
  cbor.key("addr");
  std::array<std::byte, base::ObjectId::kBytes> digest{};
  cbor.bytes(digest);
  record.addr = base::ObjectId(digest);
  cbor.key("node");
  cbor.bytes(record.node.bytes);
  cbor.key("region");
  record.region = cbor.text();
  cbor.key("expires");
  record.expires_ms = cbor.unsigned_number();
  if (!cbor.complete()) return fail(cbor.error());
  if (auto sound = check(record); !sound) return fail(std::move(sound.error()));
  return record;
}

std::string signed_text(const ProviderRecord& record) {
  std::string out(kSignedPrefix);
  write(out, record, WithSignature::No);
  return out;
}

Result<ProviderRecord> sign(ProviderRecord record, const auth::SigningKey& key) {
  if (auto sound = check(record); !sound) return fail(std::move(sound.error()));
  record.node = key.public_key();
  const auto signature = key.sign(base::as_bytes(signed_text(record)));
  if (!signature) return fail(signature.error());
  record.sig = *signature;
  return record;
}

bool has_valid_signature(const ProviderRecord& record) {
  const auto key = auth::VerifyingKey::make(record.node);
  return key && key->verify(base::as_bytes(signed_text(record)), record.sig);
}

std::string lane_key(std::uint8_t lane, const base::ObjectId& addr) {
  const std::array<std::byte, 1> lane_byte = {static_cast<std::byte>(lane)};
  b3::Hasher hasher;
  hasher.update(base::as_bytes(kLanePrefix)).update(lane_byte).update(addr.digest());
  return base::to_hex(base::ByteView(hasher.finish().digest()).first(kLaneKeyBytes));
}

}  // namespace ron::catalog
