#include "chain/frame_scanner.h"

#include <algorithm>
#include <utility>

#include "platform/wait.h"
#include "volume/files.h"

namespace ron::chain {
namespace {

using base::Result;
using platform::Task;

// Distance to the next place in the window where a frame may start, at least one step.
std::uint64_t next_candidate(base::ByteView window) noexcept {
  std::size_t at = volume::kRecordAlignment;
  while (at + volume::kRecordAlignment <= window.size() && !may_be_frame(window.subspan(at))) {
    at += volume::kRecordAlignment;
  }
  return at;
}

}  // namespace

FrameScanner::FrameScanner(std::shared_ptr<platform::File> file, const LogIdentity& log,
                           std::uint64_t segment, std::uint64_t begin, std::uint64_t end,
                           Depth depth)
    : file_(std::move(file)), spot_{log, segment, begin}, end_(end), depth_(depth) {}

// The window has so many bytes from where the scan is, or all there are.
bool FrameScanner::covers(std::size_t bytes) const noexcept {
  const std::uint64_t wanted = std::min<std::uint64_t>(bytes, end_ - spot_.offset);
  return spot_.offset >= window_offset_ && spot_.offset + wanted <= window_offset_ + window_.size();
}

// What the window has from where the scan is.
base::ByteView FrameScanner::window() const noexcept {
  return window_.view().subspan(static_cast<std::size_t>(spot_.offset - window_offset_));
}

Task<Result<void>> FrameScanner::fill_window(std::size_t bytes) {
  const std::uint64_t wanted =
      std::min<std::uint64_t>(std::max(bytes, kWindowBytes), end_ - spot_.offset);
  auto read = co_await volume::read_bytes(file_, spot_.offset, static_cast<std::size_t>(wanted));
  if (!read) co_return base::fail(std::move(read.error()));
  if (read->size() < wanted) co_return base::fail(base::Code::StorageBusy, "a segment shrinks");
  window_ = std::move(*read);
  window_offset_ = spot_.offset;
  co_await platform::Yield();  // what memory has needs no waiting, for gigabytes
  co_return Result<void>();
}

Task<Result<std::optional<FoundFrame>>> FrameScanner::next() {
  while (spot_.offset + kFrameHeadBytes <= end_) {
    if (!covers(kFrameHeadBytes)) {
      auto filled = co_await fill_window(kFrameHeadBytes);
      if (!filled) co_return base::fail(std::move(filled.error()));
    }
    const std::optional<FrameHead> head = parse_frame_head(window(), spot_);
    if (!head) {
      spot_.offset += next_candidate(window());
      continue;
    }
    FoundFrame found{*head, spot_.offset, false, {}};
    found.sound = found.end() <= end_;
    if (found.sound && depth_ == Depth::Bytes) {
      const auto stored = static_cast<std::size_t>(head->stored_bytes());
      if (!covers(stored)) {
        auto filled = co_await fill_window(stored);
        if (!filled) co_return base::fail(std::move(filled.error()));
      }
      found.sound = frame_checks(*head, window().first(stored));
      if (found.sound) found.bytes = frame_bytes(*head, window().first(stored));
    }
    spot_.offset = found.end();
    co_return found;
  }
  co_return std::nullopt;
}

}  // namespace ron::chain
