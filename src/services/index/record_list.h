// Provider records as indexes hand them to each other: a CBOR array with the bytes of every record.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "catalog/provider_record.h"

namespace ron::index {

inline constexpr std::string_view kRecordListType = "application/cbor";
inline constexpr std::size_t kMaxListedRecords = 64;
inline constexpr std::size_t kMaxRecordListBytes =
    kMaxListedRecords * (catalog::kMaxProviderRecordBytes + 3) + 3;  // with the heads

// Of more than kMaxListedRecords the first ones.
std::string encode_records(std::span<const catalog::ProviderRecord> records);
// Malformed unless this is such a list, each of whose records is one.
base::Result<std::vector<catalog::ProviderRecord>> decode_records(base::ByteView bytes);

}  // namespace ron::index
