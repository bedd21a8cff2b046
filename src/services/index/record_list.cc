#include "services/index/record_list.h"

#include <algorithm>
#include <cstdint>

#include "base/cbor.h"

namespace ron::index {

std::string encode_records(std::span<const catalog::ProviderRecord> records) {
  const auto listed = records.first(std::min(records.size(), kMaxListedRecords));
  std::string out;
  base::CborWriter writer(out);
  writer.array(listed.size());
  for (const catalog::ProviderRecord& record : listed) {
    writer.bytes(base::as_bytes(catalog::encode(record)));
  }
  return out;
}

base::Result<std::vector<catalog::ProviderRecord>> decode_records(base::ByteView bytes) {
  base::CborReader reader(bytes);
  const std::uint64_t count = reader.array();
  if (count > kMaxListedRecords) reader.refuse("there are too many records");
  std::vector<catalog::ProviderRecord> records;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    const base::ByteView one = reader.bytes();
    if (!reader.ok()) break;
    base::Result<catalog::ProviderRecord> record = catalog::decode_provider_record(one);
    if (!record) return base::fail(record.error());
    records.push_back(std::move(*record));
  }
  if (!reader.complete()) return base::fail(reader.error());
  return records;
}

}  // namespace ron::index
