// The answer of an OpenDHT proxy to GET /{key}: a JSON object on every line, one for each value,
// with the value's bytes as base64 in `data`. Read as it comes, within bounds: the values are
// anybody's, and the proxy may be anybody, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/units.h"
#include "catalog/provider_record.h"

namespace ron::index {

class DhtAnswer {
 public:
  static constexpr std::size_t kMaxLineBytes = 64 * base::kKiB;
  static constexpr std::size_t kMaxBytes = 256 * base::kKiB;
  static constexpr std::size_t kMaxLines = 64;
  // A record in base64, with what is around it, is well below a line's bound.
  static_assert(2 * catalog::kMaxProviderRecordBytes < kMaxLineBytes && kMaxLineBytes < kMaxBytes);

  // Appends the records of the lines that end in this piece; whether they count is not asked.
  // UpstreamFail beyond the bounds above, or for a line that is no JSON object: then this is no
  // answer of a proxy, and nothing more is taken.
  base::Result<void> take(base::ByteView piece, std::vector<catalog::ProviderRecord>& out);
  // The same for the last line, which may lack its end.
  base::Result<void> finish(std::vector<catalog::ProviderRecord>& out);

  // Values that are no provider records.
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

 private:
  base::Result<void> take_line(std::string_view line, std::vector<catalog::ProviderRecord>& out);

  std::string partial_;  // the beginning of a line; at most kMaxLineBytes
  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace ron::index
