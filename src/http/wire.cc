#include "http/wire.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ron::http {

using platform::IoResult;

Wire::Wire(std::unique_ptr<platform::Stream> stream, BufferPool& pool)
    : Timer(&Wire::fired),
      stream_(std::move(stream)),
      pool_(pool),
      executor_(*platform::Executor::current()) {}

Wire::~Wire() {
  if (armed()) executor_.disarm(*this);
  pool_.give_back(std::move(buffer_));
}

void Wire::release_if_empty() noexcept {
  if (buffer_ && begin_ == end_) {
    pool_.give_back(std::move(buffer_));
    begin_ = end_ = 0;
  }
}

std::unique_ptr<ReadBuffer> Wire::detach() {
  std::unique_ptr<ReadBuffer> old = std::move(buffer_);
  const std::size_t size = end_ - begin_;
  if (size > 0) {
    buffer_ = pool_.take();
    std::memcpy(buffer_->bytes.data(), old->bytes.data() + begin_, size);
  }
  begin_ = 0;
  end_ = size;
  return old;
}

void Wire::watch(platform::TimePoint at) noexcept {
  timed_out_ = false;
  guard_at_ = at;
  // An earlier timer is left alone: when it fires it looks at guard_at_ and moves on.
  if (at != platform::kNever && (!armed() || due() > at)) executor_.arm(*this, at);
}

void Wire::watch_in(base::Duration timeout, platform::TimePoint latest) noexcept {
  watch(std::min(executor_.now() + timeout, latest));
}

void Wire::fired(platform::Timer& timer) noexcept { static_cast<Wire&>(timer).on_timer(); }

void Wire::on_timer() noexcept {
  if (guard_at_ == platform::kNever) return;
  if (executor_.now() < guard_at_) {
    executor_.arm(*this, guard_at_);
    return;
  }
  guard_at_ = platform::kNever;
  timed_out_ = true;
  stream_->readable().nudge();
  stream_->writable().nudge();
}

void Wire::make_room() noexcept {
  if (!buffer_) buffer_ = pool_.take();
  if (begin_ > 0) {
    std::memmove(buffer_->bytes.data(), buffer_->bytes.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
}

IoResult Wire::try_fill() noexcept {
  if (!buffer_ || end_ == ReadBuffer::kBytes || begin_ == end_) make_room();
  const IoResult result =
      stream_->try_read({buffer_->bytes.data() + end_, ReadBuffer::kBytes - end_});
  if (result.ok()) {
    end_ += result.bytes;
    spend(result.bytes);
  }
  return result;
}

platform::Task<WireEnd> Wire::fill() {
  while (!timed_out_) {
    if (stream_->readable().is_set()) {
      const IoResult result = try_fill();
      if (result.ok()) co_return WireEnd::None;
      if (!result.would_block()) co_return WireEnd::Closed;
    }
    release_if_empty();
    co_await stream_->readable().wait();
    spent_ = 0;
    if (!timed_out_ && !stream_->readable().is_set()) co_return WireEnd::Interrupted;
  }
  co_return WireEnd::TimedOut;
}

platform::Task<WireEnd> Wire::read_exactly(base::MutableBytes into, base::Duration timeout,
                                           platform::TimePoint latest) {
  const std::size_t buffered = std::min(into.size(), end_ - begin_);
  if (buffered > 0) std::memcpy(into.data(), buffer_->bytes.data() + begin_, buffered);
  begin_ += buffered;
  into = into.subspan(buffered);
  release_if_empty();
  std::size_t left = into.size();  // when the watchdog was last set
  watch_in(timeout, latest);
  while (!into.empty()) {
    if (timed_out_) co_return WireEnd::TimedOut;
    const IoResult result = stream_->try_read(into);
    if (result.ok()) {
      into = into.subspan(result.bytes);
      note_progress(left, into.size(), timeout, latest);
      spend(result.bytes);
      if (turn_is_over()) co_await give_way();
    } else if (result.would_block()) {
      co_await stream_->readable().wait();
      spent_ = 0;
    } else {
      co_return WireEnd::Closed;
    }
  }
  unwatch();
  co_return WireEnd::None;
}

std::size_t Wire::size_of(const Spans& spans) noexcept {
  std::size_t size = 0;
  for (const base::ByteView& span : spans) size += span.size();
  return size;
}

bool Wire::try_write(Spans& spans, WireEnd& end) noexcept {
  const IoResult result = stream_->try_write(spans);
  if (result.would_block()) return false;
  if (!result.ok()) {
    end = WireEnd::Closed;
    return false;
  }
  spend(result.bytes);
  std::size_t written = result.bytes;
  for (base::ByteView& span : spans) {
    const std::size_t taken = std::min(written, span.size());
    span = span.subspan(taken);
    written -= taken;
  }
  return size_of(spans) == 0;
}

platform::Task<WireEnd> Wire::write(Spans spans, base::Duration timeout) {
  WireEnd end = WireEnd::None;
  std::size_t left = size_of(spans);
  watch_in(timeout);
  while (!timed_out_) {
    if (stream_->writable().is_set()) {
      if (try_write(spans, end)) {
        unwatch();
        co_return WireEnd::None;
      }
      if (end != WireEnd::None) co_return end;
      note_progress(left, size_of(spans), timeout);
      if (turn_is_over()) co_await give_way();
    } else {
      co_await stream_->writable().wait();
      spent_ = 0;
    }
  }
  co_return WireEnd::TimedOut;
}

void Wire::note_progress(std::size_t& left, std::size_t now_left, base::Duration timeout,
                         platform::TimePoint latest) noexcept {
  if (left - now_left < kProgressBytes) return;
  left = now_left;
  watch_in(timeout, latest);
}

bool Wire::try_send(base::ByteView& head, const platform::SendMemory& memory, base::ByteView& piece,
                    WireEnd& end) noexcept {
  if (!head.empty()) {
    const auto flush =
        piece.size() <= kJoinHeadBytes ? platform::Flush::WithNext : platform::Flush::Now;
    const IoResult result = stream_->try_write({&head, 1}, flush);
    if (result.ok()) head = head.subspan(result.bytes);
    if (!result.ok() && !result.would_block()) end = WireEnd::Closed;
    if (!head.empty()) return false;
  }
  const IoResult result = stream_->try_send(memory, piece);
  if (result.ok()) {
    piece = piece.subspan(result.bytes);
    spend(result.bytes);
  }
  if (!result.ok() && !result.would_block()) end = WireEnd::Closed;
  return piece.empty();
}

platform::Task<WireEnd> Wire::send(base::ByteView head, const platform::SendMemory* memory,
                                   base::ByteView piece, base::Duration timeout) {
  WireEnd end = WireEnd::None;
  std::size_t left = head.size() + piece.size();
  watch_in(timeout);
  while (!timed_out_) {
    if (!stream_->writable().is_set()) {
      co_await stream_->writable().wait();
      spent_ = 0;
      continue;
    }
    if (try_send(head, *memory, piece, end)) {
      unwatch();
      co_return WireEnd::None;
    }
    if (end != WireEnd::None) co_return end;
    note_progress(left, head.size() + piece.size(), timeout);
    if (turn_is_over()) co_await give_way();
  }
  co_return WireEnd::TimedOut;
}

platform::Task<void> Wire::linger(base::Duration timeout) {
  stream_->shutdown_write();
  watch_in(timeout);
  begin_ = end_ = 0;
  for (std::size_t dropped = 0; dropped < kLingerBytes && !timed_out_;) {
    const IoResult result = try_fill();
    begin_ = end_ = 0;
    if (result.ok()) {
      dropped += result.bytes;
      if (turn_is_over()) co_await give_way();
    } else if (result.would_block()) {
      release_if_empty();
      co_await stream_->readable().wait();
      spent_ = 0;
    } else {
      co_return;
    }
  }
}

}  // namespace ron::http
