// What a client sends to begin an upload, and how it names a part.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/object_id.h"
#include "base/result.h"
#include "volume/volume.h"

namespace ron::storage {

struct UploadRequest {
  std::uint64_t length = 0;
  std::optional<base::ObjectId> address;
};

// A longer text cannot be such a request.
inline constexpr std::size_t kUploadRequestBytes = 4096;

// `{"length":N,"address":"b3:…"}`, the address may be left out. Malformed for anything else, also
// for members it does not know and members given twice; BadAddress for an address that is none.
base::Result<UploadRequest> parse_upload_request(std::string_view json);

// Decimal without a sign or leading zeros; Malformed otherwise.
base::Result<std::uint64_t> parse_part_number(std::string_view text);

// Malformed when the upload has no such part.
base::Result<void> check_part_number(const volume::Upload& upload, std::uint64_t part);
// Malformed when the part has to be longer, BodyCap when it may not be so long.
base::Result<void> check_part_length(const volume::Upload& upload, std::uint64_t part,
                                     std::uint64_t length);

}  // namespace ron::storage
