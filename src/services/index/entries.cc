#include "services/index/entries.h"

#include <array>
#include <limits>

#include "base/cbor.h"
#include "base/rfc3339.h"

namespace ron::index {
namespace {

using base::CborReader;
using base::CborWriter;
using base::Code;
using base::fail;
using base::Result;

std::string number_text(std::uint64_t number) {
  std::array<char, 8> bytes{};
  for (std::size_t i = bytes.size(); i-- > 0; number >>= 8) {
    bytes[i] = static_cast<char>(number & 0xff);
  }
  return {bytes.data(), bytes.size()};
}

std::string table_key(char table, std::string_view rest) {
  std::string key(1, table);
  key += rest;
  return key;
}

std::unexpected<base::Error> damaged(std::string_view what) {
  return fail(Code::IntegrityFail,
              "the index holds " + std::string(what) + " that cannot be read; restore it");
}

// Times before 1970 are of no use here.
std::uint64_t as_unsigned(std::int64_t ms) noexcept {
  return ms < 0 ? 0 : static_cast<std::uint64_t>(ms);
}
std::int64_t as_time(std::uint64_t ms) noexcept {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(ms > kMost ? kMost : ms);
}

}  // namespace

std::string encode(const NameVersion& version) {
  std::string out;
  CborWriter writer(out);
  writer.array(7).text(version.name).unsigned_number(version.version);
  if (version.target) {
    writer.bytes(version.target->digest());
  } else {
    writer.null();
  }
  writer.text(version.type).array(2 * version.meta.size());
  for (const auto& [key, value] : version.meta) writer.text(key).text(value);
  writer.text(version.tenant).unsigned_number(as_unsigned(version.at_ms));
  return out;
}

Result<NameVersion> decode_name_version(std::string_view bytes) {
  CborReader reader(bytes);
  NameVersion out;
  if (reader.array() != 7) return damaged("a name");
  out.name = reader.text();
  out.version = reader.unsigned_number();
  if (reader.next_kind() == base::CborKind::Null) {
    reader.null();
  } else {
    std::array<std::byte, base::ObjectId::kBytes> target{};
    reader.bytes(target);
    out.target = base::ObjectId(target);
  }
  out.type = reader.text();
  const std::uint64_t texts = reader.array();
  for (std::uint64_t i = 0; reader.ok() && i + 1 < texts; i += 2) {
    std::string key(reader.text());
    out.meta.emplace(std::move(key), reader.text());
  }
  out.tenant = reader.text();
  out.at_ms = as_time(reader.unsigned_number());
  if (!reader.complete() || texts % 2 != 0) return damaged("a name");
  return out;
}

base::Value to_value(const NameVersion& version) {
  using base::Value;
  Value::Map map{{"name", version.name},
                 {"version", version.version},
                 {"at", base::print_rfc3339(version.at_ms / 1000)}};
  if (version.target) {
    map.emplace("target", version.target->text());
  } else {
    map.emplace("target", Value());
    map.emplace("deleted", true);
  }
  if (!version.type.empty()) map.emplace("type", version.type);
  if (!version.meta.empty()) {
    Value::Map meta;
    for (const auto& [key, value] : version.meta) meta.emplace(key, value);
    map.emplace("meta", std::move(meta));
  }
  return map;
}

std::string encode(const ProviderEntry& entry) {
  std::string out;
  const std::string record = catalog::encode(entry.record);
  CborWriter(out)
      .array(4)
      .bytes(base::as_bytes(record))
      .unsigned_number(as_unsigned(entry.seen_ms))
      .unsigned_number(entry.guard_until_ms)
      .boolean(entry.is_own);
  return out;
}

Result<ProviderEntry> decode_provider_entry(std::string_view bytes) {
  CborReader reader(bytes);
  if (reader.array() != 4) return damaged("a provider");
  auto record = catalog::decode_provider_record(reader.bytes());
  if (!record) return damaged("a provider");
  ProviderEntry out{.record = std::move(*record)};
  out.seen_ms = as_time(reader.unsigned_number());
  out.guard_until_ms = reader.unsigned_number();
  out.is_own = reader.boolean();
  if (!reader.complete()) return damaged("a provider");
  return out;
}

std::string encode(const ManifestFacts& facts) {
  std::string out;
  CborWriter(out).array(2).unsigned_number(facts.entries).unsigned_number(facts.length);
  return out;
}

Result<ManifestFacts> decode_manifest_facts(std::string_view bytes) {
  CborReader reader(bytes);
  if (reader.array() != 2) return damaged("a manifest's facts");
  ManifestFacts out;
  out.entries = reader.unsigned_number();
  out.length = reader.unsigned_number();
  if (!reader.complete()) return damaged("a manifest's facts");
  return out;
}

std::string encode_count(std::uint64_t count) {
  std::string out;
  CborWriter(out).unsigned_number(count);
  return out;
}

Result<std::uint64_t> decode_count(std::string_view bytes) {
  CborReader reader(bytes);
  const std::uint64_t count = reader.unsigned_number();
  if (!reader.complete()) return damaged("a count");
  return count;
}

std::string name_key(std::string_view name) { return table_key(kNamesTable, name); }

std::string version_key(std::string_view name, std::uint64_t version) {
  std::string key = table_key('v', name);
  key += '\0';
  return key + number_text(version);
}

std::string tenant_key(std::string_view tenant) { return table_key('t', tenant); }

std::string providers_prefix(const base::ObjectId& addr) {
  return table_key(kProvidersTable, base::as_text(addr.digest()));
}

std::string provider_key(const base::ObjectId& addr, const auth::PublicKey& node) {
  return providers_prefix(addr) + std::string(base::as_text(node.bytes));
}

std::string expiry_key(std::uint64_t expires_ms, const base::ObjectId& addr,
                       const auth::PublicKey& node) {
  std::string key = table_key(kExpiryTable, number_text(expires_ms));
  key += base::as_text(addr.digest());
  key += base::as_text(node.bytes);
  return key;
}

std::string manifest_key(const base::ObjectId& addr) {
  return table_key('a', base::as_text(addr.digest()));
}

std::string pin_key(std::string_view key) { return table_key(kPinsTable, key); }

std::string behind(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

}  // namespace ron::index
