#include "volume/segment.h"

#include <algorithm>
#include <cstring>

#include "b3/hash.h"
#include "base/encoding.h"
#include "platform/disk_error.h"
#include "runtime/deadline.h"
#include "volume/codec.h"
#include "volume/files.h"

namespace ron::volume {
namespace {

constexpr std::string_view kSegmentMagic = "RONSEG01";
constexpr std::string_view kSegmentSuffix = ".seg";
constexpr std::size_t kNumberDigits = 10;
constexpr std::string_view kIdentityTitle = "ron volume 1\n";
constexpr std::uint64_t kPage = base::Buffer::kPageBytes;
// How often a page is asked for before it counts as unreadable, and how long to wait in between.
constexpr int kPageTries = 3;
constexpr base::Duration kPageTryEvery = std::chrono::milliseconds(20);

base::ByteView checksum_bytes(const base::ObjectId& hash) {
  return base::ByteView(hash.digest()).first(kChecksumBytes);
}

// A file that could not be opened.
class UnopenedFile final : public platform::File {
 public:
  explicit UnopenedFile(base::Error why) : why_(std::move(why)) {}

  platform::Task<base::Result<base::Buffer>> read_at(std::uint64_t, base::Buffer) override {
    co_return base::fail(why_);
  }
  std::optional<std::size_t> try_read_at(std::uint64_t, base::MutableBytes) noexcept override {
    return std::nullopt;
  }
  platform::Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t, std::vector<base::Buffer>) override {
    co_return base::fail(why_);
  }
  platform::Task<base::Result<void>> sync() override { co_return base::fail(why_); }
  platform::Task<base::Result<std::uint64_t>> size() override { co_return base::fail(why_); }
  platform::Task<base::Result<void>> truncate(std::uint64_t) override {
    co_return base::fail(why_);
  }
  base::Result<bool> try_lock(platform::FileLock) override { return base::fail(why_); }

 private:
  const base::Error why_;
};

}  // namespace

SegmentPtr set_aside_segment(std::uint64_t number, base::Error why) {
  auto file = std::make_shared<UnopenedFile>(std::move(why));
  return std::make_shared<Segment>(Segment{number, {}, std::move(file), true});
}

std::string encode(const SegmentHead& head) {
  FieldWriter out;
  out.text(kSegmentMagic);
  out.ulid(head.volume.id);
  out.bytes(head.volume.seal);
  out.u64(head.segment);
  out.u64(head.closes.segment);
  out.u64(head.closes.offset);
  out.zeros(kSegmentHeadBytes - kChecksumBytes - out.view().size());
  out.bytes(checksum_bytes(b3::hash(base::as_bytes(out.view()))));
  return std::move(out).take();
}

std::optional<SegmentHead> parse_segment_head(base::ByteView bytes) {
  if (bytes.size() < kSegmentHeadBytes) return std::nullopt;
  const base::ByteView covered = bytes.first(kSegmentHeadBytes - kChecksumBytes);
  const base::ObjectId hash = b3::hash(covered);
  if (!std::ranges::equal(checksum_bytes(hash), bytes.subspan(covered.size(), kChecksumBytes))) {
    return std::nullopt;
  }
  FieldReader in(covered);
  if (in.text(kSegmentMagic.size()) != kSegmentMagic) return std::nullopt;
  SegmentHead head;
  head.volume.id = in.ulid();
  std::ranges::copy(in.bytes(head.volume.seal.size()), head.volume.seal.begin());
  head.segment = in.u64();
  head.closes.segment = in.u64();
  head.closes.offset = in.u64();
  return in.ok() ? std::optional(head) : std::nullopt;
}

std::string segment_name(std::uint64_t segment) {
  std::string digits = std::to_string(segment);
  digits.insert(0, kNumberDigits - std::min(kNumberDigits, digits.size()), '0');
  return digits.append(kSegmentSuffix);
}

std::optional<std::uint64_t> parse_segment_name(std::string_view name) {
  if (!name.ends_with(kSegmentSuffix)) return std::nullopt;
  std::uint64_t number = 0;
  const std::string_view digits = name.substr(0, name.size() - kSegmentSuffix.size());
  if (digits.size() < kNumberDigits || digits.size() > 18) return std::nullopt;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  if (segment_name(number) != name) return std::nullopt;
  return number;
}

std::string encode(const Identity& identity) {
  std::string text(kIdentityTitle);
  text.append(identity.id.text()).append("\n").append(base::to_hex(identity.seal)).append("\n");
  return text;
}

std::optional<Identity> parse_identity(std::string_view text) {
  Identity identity;
  const std::size_t id_at = kIdentityTitle.size();
  const std::size_t seal_at = id_at + base::Ulid::kTextLength + 1;
  const std::size_t seal_digits = 2 * identity.seal.size();
  if (text.size() != seal_at + seal_digits + 1) return std::nullopt;
  const auto id = base::Ulid::parse(text.substr(id_at, base::Ulid::kTextLength));
  if (!id || !base::from_hex(text.substr(seal_at, seal_digits), identity.seal)) {
    return std::nullopt;
  }
  identity.id = *id;
  return encode(identity) == text ? std::optional(identity) : std::nullopt;
}

platform::Task<base::Result<base::Buffer>> read_bytes(SegmentPtr segment, std::uint64_t offset,
                                                      std::size_t bytes) {
  return read_bytes(segment->file, offset, bytes);
}

platform::Task<base::Result<StoredRecord>> read_record(SegmentPtr segment, Seal seal, Place place) {
  const std::size_t wanted = std::size_t{place.head_bytes} + place.payload_bytes;
  auto bytes = co_await read_bytes(segment, place.offset, wanted);
  if (!bytes) co_return base::fail(std::move(bytes.error()));
  auto record = parse_record(bytes->view(), {seal, segment->number, place.offset});
  const bool sound = record && bytes->size() == wanted &&
                     record->head_bytes() == place.head_bytes &&
                     record->payload_bytes == place.payload_bytes;
  if (!sound) co_return base::fail(base::Code::IntegrityFail, "a stored record is damaged");
  co_return StoredRecord{std::move(*record), std::move(*bytes)};
}

SegmentScanner::SegmentScanner(SegmentPtr segment, Seal seal, std::uint64_t begin,
                               std::uint64_t end)
    : segment_(std::move(segment)),
      spot_{seal, segment_->number, 0},
      position_(aligned(std::max<std::uint64_t>(begin, kSegmentHeadBytes))),
      end_(end) {}

// At least `bytes` from `offset` on, fewer at the end of the file and before a page that cannot be
// read. Valid until the next call.
platform::Task<base::Result<base::ByteView>> SegmentScanner::window_at(std::uint64_t offset,
                                                                       std::size_t bytes) {
  const std::uint64_t window_end = window_offset_ + window_.size();
  const bool covered = offset >= window_offset_ &&
                       (offset + bytes <= window_end || (window_ended_by_ && offset < window_end));
  if (!covered) {
    auto filled = co_await fill_window(offset / kPage * kPage);
    if (!filled) co_return base::fail(std::move(filled.error()));
  }
  const std::uint64_t skip = std::min<std::uint64_t>(offset - window_offset_, window_.size());
  co_return window_.view().subspan(static_cast<std::size_t>(skip));
}

// Whole pages at page boundaries are read, as a direct file wants it. What the medium does not give
// at once is asked for page by page, and the window ends at the first that it does not give at all.
platform::Task<base::Result<void>> SegmentScanner::fill_window(std::uint64_t start) {
  window_offset_ = start;
  window_.resize(0);
  window_ended_by_.reset();
  auto read = co_await segment_->file->read_at(start, base::Buffer(kWindowBytes));
  if (read) {
    window_ = std::move(*read);
    co_return base::Result<void>();
  }
  if (!platform::is_medium_error(read.error())) co_return base::fail(std::move(read.error()));
  base::Buffer pages(kWindowBytes);
  std::size_t filled = 0;
  while (filled < kWindowBytes) {
    auto page = co_await read_page(start + filled);
    if (!page) {
      window_ended_by_ = std::move(page.error());
      break;
    }
    if (page->size() != 0) std::memcpy(pages.data() + filled, page->data(), page->size());
    filled += page->size();
    if (page->size() < kPage) break;  // the end of the file
  }
  pages.resize(filled);
  window_ = std::move(pages);
  co_return base::Result<void>();
}

platform::Task<base::Result<base::Buffer>> SegmentScanner::read_page(std::uint64_t start) {
  for (int tries = 1;; ++tries) {
    auto page = co_await segment_->file->read_at(start, base::Buffer(kPage));
    if (page || tries == kPageTries) co_return page;
    co_await runtime::sleep_for(kPageTryEvery);
  }
}

// Goes on behind the page that ended the window.
base::Result<void> SegmentScanner::skip_unreadable_page() {
  const std::uint64_t behind = window_offset_ + window_.size() + kPage;
  skipped_ += std::min(behind, end_) - position_;
  unreadable_ += kPage;
  position_ = behind;
  if (unreadable_ < kMostUnreadableBytes) return {};
  return base::fail(*window_ended_by_);
}

// Distance to the next place in the window where a record may start, at least one step.
std::uint64_t SegmentScanner::next_candidate(base::ByteView window) const noexcept {
  std::size_t at = kRecordAlignment;
  while (at + kRecordAlignment <= window.size() && !may_be_record(window.subspan(at))) {
    at += kRecordAlignment;
  }
  return at;
}

platform::Task<base::Result<std::optional<FoundRecord>>> SegmentScanner::next() {
  while (position_ + kFixedHeadBytes <= end_) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(kMaxHeadBytes, end_ - position_));
    auto window = co_await window_at(position_, wanted);
    if (!window) co_return base::fail(std::move(window.error()));
    spot_.offset = position_;
    auto parsed = parse_record(*window, spot_);
    if (parsed && position_ + parsed->stored_bytes() <= end_) {
      FoundRecord found{std::move(*parsed), {}};
      found.place = {segment_->number, position_,
                     static_cast<std::uint32_t>(found.record.head_bytes()),
                     found.record.payload_bytes};
      position_ = found.end();
      co_return found;
    }
    if (window->size() < kFixedHeadBytes) {
      if (!window_ended_by_) break;  // the file ends here
      auto skipped = skip_unreadable_page();
      if (!skipped) co_return base::fail(std::move(skipped.error()));
      continue;
    }
    const std::uint64_t step = next_candidate(*window);
    skipped_ += step;
    position_ += step;
  }
  co_return std::nullopt;
}

platform::Task<base::Result<base::Buffer>> SegmentScanner::payload(Place place) {
  const std::uint64_t offset = place.offset + place.head_bytes;
  if (place.payload_bytes <= kWindowBytes - kPage) {
    auto window = co_await window_at(offset, place.payload_bytes);
    if (!window) co_return base::fail(std::move(window.error()));
    if (window->size() < place.payload_bytes && window_ended_by_) {
      co_return base::fail(*window_ended_by_);
    }
    base::Buffer payload(std::min<std::size_t>(place.payload_bytes, window->size()));
    if (payload.size() != 0) std::memcpy(payload.data(), window->data(), payload.size());
    co_return payload;
  }
  const std::uint64_t start = offset / kPage * kPage;
  const auto lead = static_cast<std::size_t>(offset - start);
  const auto pages = static_cast<std::size_t>(next_page(lead + place.payload_bytes));
  auto read = co_await segment_->file->read_at(start, base::Buffer(pages));
  if (!read) co_return base::fail(std::move(read.error()));
  const std::size_t there = read->size() > lead ? read->size() - lead : 0;
  base::Buffer payload(std::min<std::size_t>(place.payload_bytes, there));
  if (payload.size() != 0) std::memcpy(payload.data(), read->data() + lead, payload.size());
  co_return payload;
}

}  // namespace ron::volume
