// Arbitrary bytes as a record and as the head of a segment: whatever is accepted encodes to the
// same bytes again.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "volume/record.h"
#include "volume/segment.h"

namespace {

using namespace ron;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_record(base::ByteView bytes) {
  const volume::Spot spot{};
  const auto record = volume::parse_record(bytes, spot);
  if (!record) {
    require(bytes.size() < volume::kMaxHeadBytes ||
            record.error() == volume::ParseFailure::Invalid);
    return;
  }
  require(record->head_bytes() <= bytes.size() && record->head_bytes() <= volume::kMaxHeadBytes);
  require(record->payload_bytes <= volume::kMaxPayloadBytes);
  std::vector<std::byte> again(record->head_bytes());
  volume::encode(*record, spot, again);
  require(volume::parse_record(again, spot) == *record);
  const base::ByteView rest = bytes.subspan(record->head_bytes());
  if (rest.size() >= record->payload_bytes) {
    static_cast<void>(volume::first_bad_group(*record, rest.first(record->payload_bytes)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::ByteView bytes = std::as_bytes(std::span(data, size));
  check_record(bytes);
  if (const auto head = volume::parse_segment_head(bytes)) {
    require(volume::parse_segment_head(base::as_bytes(volume::encode(*head))) == *head);
  }
  if (const auto identity = volume::parse_identity(base::as_text(bytes))) {
    require(volume::encode(*identity) == base::as_text(bytes));
  }
  if (const auto number = volume::parse_segment_name(base::as_text(bytes))) {
    require(volume::segment_name(*number) == base::as_text(bytes));
  }
  return 0;
}
