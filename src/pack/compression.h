// What packs compress tiles, directories and metadata with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "http/codecs.h"
#include "pack/pack.h"

namespace ron::pack {

inline constexpr std::string_view kGzipMagic = "\x1f\x8b";

// What HTTP calls it.
http::Coding coding_of(Compression compression) noexcept;
// What was stored with this compression, as long as it is no longer than `cap_bytes`. Malformed;
// `what` is for the message.
base::Result<std::string> decompress(base::ByteView bytes, Compression compression,
                                     std::uint64_t cap_bytes, std::string_view what);
// What these bytes are compressed with, if it shows: Gzip, else None.
Compression sniff_compression(base::ByteView bytes) noexcept;
// The same bytes give the same result, always.
std::string gzip(base::ByteView bytes);

}  // namespace ron::pack
