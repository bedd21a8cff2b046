// Arbitrary bytes as keys and values of the index: whatever is accepted encodes to the same bytes
// again, so that one thing has one key and one value.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "volume/entry.h"

namespace {

using namespace ron;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Entry>
void check(std::string_view value) {
  const auto entry = volume::parse_entry<Entry>(value);
  if (entry) require(volume::encode(*entry) == value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = base::as_text(std::as_bytes(std::span(data, size)));
  check<volume::ObjectEntry>(text);
  check<volume::UploadEntry>(text);
  check<volume::PartEntry>(text);
  check<volume::HoldEntry>(text);
  check<volume::SegmentEntry>(text);
  check<volume::Usage>(text);
  check<volume::QuarantineEntry>(text);
  check<volume::MetaEntry>(text);
  if (const auto upload = volume::parse_upload_key(text)) {
    require(volume::upload_key(*upload) == text);
  }
  if (const auto part = volume::parse_part_key(text)) {
    require(volume::part_key(part->upload, part->part) == text);
  }
  if (const auto hold = volume::parse_hold_key(text)) {
    require(volume::hold_key(hold->id, hold->tenant) == text);
  }
  if (const auto id = volume::parse_hold_mark_key(text)) {
    require(volume::hold_mark_key(*id) == text);
  }
  if (const auto segment = volume::parse_segment_key(text)) {
    require(volume::segment_key(*segment) == text);
  }
  if (const auto id = volume::parse_object_key(text)) {
    require(volume::object_key(*id) == text || volume::quarantine_key(*id) == text);
  }
  return 0;
}
