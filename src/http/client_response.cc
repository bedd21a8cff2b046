#include "http/client_response.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace ron::http {

using base::Code;
using base::fail;

// The link's buffer is taken over with what came behind the head: nothing is copied.
void ClientResponse::begin_body(std::size_t head_bytes, bool sent_whole) {
  State& state = *state_;
  Wire& wire = state.lease.link().wire();
  const std::string_view arrived = wire.pending();
  wire.consume(arrived.size());
  state.head_buffer = HeldBuffer(*state.buffers, wire.detach());
  char* const memory = reinterpret_cast<char*>(state.head_buffer->bytes.data());
  const auto unread_at = static_cast<std::size_t>(arrived.data() - memory) + head_bytes;
  state.unread = {memory + unread_at, arrived.size() - head_bytes};
  state.reusable = state.head.keep_alive && sent_whole;
  state.left = state.head.content_length.value_or(0);
  if (state.head.body == BodyKind::None) finish(true);
}

void ClientResponse::attach(UpstreamAttempt attempt) {
  State& state = *state_;
  const platform::TimePoint now = platform::Executor::current()->now();
  state.attempt = std::move(attempt);
  state.attempt.answered(state.head.status, now);
  if (state.finished) state.attempt.completed(now);
}

// The body is complete. The connection goes back, unless the upstream and we are out of step.
void ClientResponse::finish(bool in_sync) {
  State& state = *state_;
  state.finished = true;
  if (in_sync && state.unread.empty() && state.reusable) state.lease.keep();
  state.lease.drop();
  state.attempt.completed(platform::Executor::current()->now());
}

platform::TimePoint ClientResponse::patience() const {
  return state_->deadline.sooner(runtime::Deadline::in(state_->read_timeout)).at();
}

base::Error ClientResponse::ended(LinkEnd end, platform::TimePoint waited_since) {
  State& state = *state_;
  // The upstream has the read timeout for each part. A caller whose own deadline passes before that
  // did not give it its time.
  const platform::TimePoint now = platform::Executor::current()->now();
  const bool in_vain = waited_since >= state.deadline.at();
  const bool cut_short = end == LinkEnd::TimedOut && now - waited_since < state.read_timeout;
  if (end != LinkEnd::Canceled && !in_vain && !cut_short) state.attempt.failed(now);
  state.attempt.end();
  const std::string who = state.lease.link().stream().peer().text();
  state.lease.drop();
  if (end == LinkEnd::TimedOut) {
    state.meters->read_timeouts.add();
    state.meters->timeouts.add();
    return {Code::Timeout, who + " did not send its whole body in time"};
  }
  if (end == LinkEnd::Canceled) {
    state.meters->canceled.add();
    return {Code::Canceled, "the client is shutting down"};
  }
  state.meters->closed.add();
  return {Code::UpstreamFail, who + " closed the connection before its body was complete"};
}

base::Error ClientResponse::too_large(std::uint64_t cap_bytes) {
  state_->lease.drop();
  state_->attempt.end();
  return base::Error(Code::UpstreamFail, "the upstream's body is larger than the caller takes")
      .with("limit_bytes", std::to_string(cap_bytes));
}

// What has arrived already, as far as it belongs to this body; empty when more must arrive.
base::Result<base::ByteView> ClientResponse::take_unread() {
  State& state = *state_;
  if (state.head.body == BodyKind::Chunked) return take_chunks();
  std::size_t size = state.unread.size();
  if (state.head.body == BodyKind::Length) {
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, state.left));
    state.left -= size;
  }
  const std::span<const char> piece = state.unread.first(size);
  state.unread = state.unread.subspan(size);
  if (state.head.body == BodyKind::Length && state.left == 0) finish(true);
  return std::as_bytes(piece);
}

// All chunks that have arrived are one piece: they are moved together over what stood between them.
base::Result<base::ByteView> ClientResponse::take_chunks() {
  State& state = *state_;
  char* const first = state.unread.data();
  std::size_t size = 0;
  while (!state.unread.empty()) {
    const ChunkStep step = state.chunks.feed({state.unread.data(), state.unread.size()});
    if (step.kind == ChunkStep::Kind::Bad) {
      state.meters->malformed.add();
      state.lease.drop();
      state.attempt.failed(platform::Executor::current()->now());
      return fail(Code::UpstreamFail, std::string(step.refusal.message));
    }
    if (!step.data.empty()) std::memmove(first + size, step.data.data(), step.data.size());
    size += step.data.size();
    state.unread = state.unread.subspan(step.consumed);
    if (step.kind == ChunkStep::Kind::End) {
      finish(true);
      break;
    }
  }
  return std::as_bytes(std::span<const char>(first, size));
}

// Reads what has arrived into a body buffer. An upstream that takes its time costs none meanwhile.
platform::Task<LinkEnd> ClientResponse::fill() {
  State& state = *state_;
  ClientLink& link = state.lease.link();
  const platform::TimePoint until = patience();
  for (;;) {
    if (!link.stream().readable().is_set()) state.body_buffer.reset();
    const LinkEnd waited = co_await link.wait_readable(until);
    if (waited != LinkEnd::None) co_return waited;
    if (!state.body_buffer) state.body_buffer = HeldBody(*state.body_buffers);
    const base::MutableBytes memory = state.body_buffer->bytes;
    std::size_t bytes = 0;
    const LinkEnd end = link.try_read(memory, bytes);
    if (end != LinkEnd::None) co_return end;
    if (bytes == 0) continue;
    state.unread = {reinterpret_cast<char*>(memory.data()), bytes};
    co_return LinkEnd::None;
  }
}

// What came with the head and what has arrived since become one piece: copying a few kilobytes
// costs less than sending them on by themselves.
void ClientResponse::gather() {
  State& state = *state_;
  const std::size_t size = state.unread.size();
  const bool came_with_head = size > 0 && !state.body_buffer;
  if (!came_with_head || state.head.body != BodyKind::Length) return;
  ClientLink& link = state.lease.link();
  if (state.left < size + kWorthGathering || !link.stream().readable().is_set()) return;
  HeldBody gathered(*state.body_buffers);
  const base::MutableBytes memory = gathered->bytes;
  std::memcpy(memory.data(), state.unread.data(), size);
  std::size_t bytes = 0;
  // How it ended is for whoever waits for more to find out.
  if (link.try_read(memory.subspan(size), bytes) != LinkEnd::None) return;
  state.body_buffer = std::move(gathered);
  state.unread = {reinterpret_cast<char*>(memory.data()), size + bytes};
}

platform::Task<base::Result<base::ByteView>> ClientResponse::next() {
  State& state = *state_;
  while (!state.finished) {
    if (!state.lease) co_return fail(Code::UpstreamFail, "the answer failed before");
    gather();
    const base::Result<base::ByteView> piece = take_unread();
    if (!piece || !piece->empty()) co_return piece;
    if (state.finished) break;
    const platform::TimePoint asked_at = platform::Executor::current()->now();
    const LinkEnd end = co_await fill();
    if (end == LinkEnd::Eof && state.head.body == BodyKind::UntilClose) {
      finish(false);
    } else if (end != LinkEnd::None) {
      co_return fail(ended(end, asked_at));
    }
  }
  co_return base::ByteView();
}

platform::Task<base::Result<base::Buffer>> ClientResponse::read_all(std::uint64_t cap_bytes,
                                                                    base::Buffer spare) {
  if (!state_->finished && state_->lease && state_->head.body == BodyKind::Length) {
    if (state_->left <= cap_bytes) return read_exactly(state_->left, std::move(spare));
  }
  return read_pieces(cap_bytes);
}

// A body of known length goes straight into its final place.
platform::Task<base::Result<base::Buffer>> ClientResponse::read_exactly(std::uint64_t length,
                                                                        base::Buffer spare) {
  State& state = *state_;
  const auto bytes_wanted = static_cast<std::size_t>(length);
  const bool suffices = spare.capacity() >= bytes_wanted;
  base::Buffer body = suffices ? std::move(spare) : base::Buffer(bytes_wanted);
  body.resize(bytes_wanted);
  base::MutableBytes into = body.span();
  const std::size_t buffered = std::min(into.size(), state.unread.size());
  if (buffered > 0) std::memcpy(into.data(), state.unread.data(), buffered);
  state.unread = state.unread.subspan(buffered);
  into = into.subspan(buffered);
  platform::TimePoint until = patience();
  while (!into.empty()) {
    ClientLink& link = state.lease.link();
    const platform::TimePoint asked_at = platform::Executor::current()->now();
    LinkEnd end = co_await link.wait_readable(until);
    std::size_t bytes = 0;
    if (end == LinkEnd::None) end = link.try_read(into, bytes);
    if (end != LinkEnd::None) co_return fail(ended(end, asked_at));
    if (bytes > 0) until = patience();
    into = into.subspan(bytes);
  }
  state.left = 0;
  finish(true);
  co_return std::move(body);
}

platform::Task<base::Result<base::Buffer>> ClientResponse::read_pieces(std::uint64_t cap_bytes) {
  const bool sized = !state_->finished && state_->head.body == BodyKind::Length;
  if (sized && state_->left > cap_bytes) co_return fail(too_large(cap_bytes));
  std::vector<std::byte> whole;
  for (;;) {
    const base::Result<base::ByteView> piece = co_await next();
    if (!piece) co_return fail(piece.error());
    if (piece->empty()) break;
    if (piece->size() > cap_bytes - whole.size()) co_return fail(too_large(cap_bytes));
    whole.insert(whole.end(), piece->begin(), piece->end());
  }
  base::Buffer body(whole.size());
  if (!whole.empty()) std::memcpy(body.data(), whole.data(), whole.size());
  co_return std::move(body);
}

}  // namespace ron::http
