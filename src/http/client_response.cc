#include "http/client_response.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace ron::http {

using base::Code;
using base::fail;

void ClientResponse::begin_body(std::size_t head_bytes, bool sent_whole) {
  State& state = *state_;
  Wire& wire = state.lease.link().wire();
  wire.consume(head_bytes);
  state.head_buffer = HeldBuffer(*state.buffers, wire.detach());
  state.reusable = state.head.keep_alive && sent_whole;
  state.left = state.head.content_length.value_or(0);
  if (state.head.body == BodyKind::None) finish(true);
}

// The body is complete. The connection goes back, unless the upstream and we are out of step.
void ClientResponse::finish(bool in_sync) {
  State& state = *state_;
  state.finished = true;
  Wire& wire = state.lease.link().wire();
  const bool nothing_more = wire.pending().empty();
  state.last_piece = HeldBuffer(*state.buffers, wire.detach());
  if (in_sync && nothing_more && state.reusable) state.lease.keep();
  state.lease.drop();
}

platform::TimePoint ClientResponse::patience() const {
  return state_->deadline.sooner(runtime::Deadline::in(state_->read_timeout)).at();
}

base::Error ClientResponse::ended(LinkEnd end) {
  State& state = *state_;
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
  return base::Error(Code::UpstreamFail, "the upstream's body is larger than the caller takes")
      .with("limit_bytes", std::to_string(cap_bytes));
}

// What has arrived already, as far as it belongs to this body; empty when more must arrive.
base::Result<base::ByteView> ClientResponse::take_buffered() {
  State& state = *state_;
  if (state.head.body == BodyKind::Chunked) return take_chunked();
  Wire& wire = state.lease.link().wire();
  const std::string_view pending = wire.pending();
  std::size_t size = pending.size();
  if (state.head.body == BodyKind::Length) {
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, state.left));
    state.left -= size;
  }
  wire.consume(size);
  if (state.head.body == BodyKind::Length && state.left == 0) finish(true);
  return base::as_bytes(pending.substr(0, size));
}

base::Result<base::ByteView> ClientResponse::take_chunked() {
  State& state = *state_;
  Wire& wire = state.lease.link().wire();
  for (;;) {
    const ChunkStep step = state.chunks.feed(wire.pending());
    if (step.kind == ChunkStep::Kind::Bad) {
      state.meters->malformed.add();
      state.lease.drop();
      return fail(Code::UpstreamFail, std::string(step.refusal.message));
    }
    wire.consume(step.consumed);
    if (step.kind == ChunkStep::Kind::Data) return base::as_bytes(step.data);
    if (step.kind == ChunkStep::Kind::End) {
      finish(true);
      return base::ByteView();
    }
    if (step.kind == ChunkStep::Kind::NeedMore) return base::ByteView();
  }
}

platform::Task<base::Result<base::ByteView>> ClientResponse::next() {
  State& state = *state_;
  while (!state.finished) {
    if (!state.lease) co_return fail(Code::UpstreamFail, "the answer failed before");
    const base::Result<base::ByteView> piece = take_buffered();
    if (!piece || !piece->empty()) co_return piece;
    if (state.finished) break;
    const LinkEnd end = co_await state.lease.link().fill(patience());
    if (end == LinkEnd::Eof && state.head.body == BodyKind::UntilClose) {
      finish(false);
    } else if (end != LinkEnd::None) {
      co_return fail(ended(end));
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
  const std::string_view pending = state.lease.link().wire().pending();
  const std::size_t buffered = std::min(into.size(), pending.size());
  if (buffered > 0) std::memcpy(into.data(), pending.data(), buffered);
  state.lease.link().wire().consume(buffered);
  into = into.subspan(buffered);
  while (!into.empty()) {
    std::size_t bytes = 0;
    const LinkEnd end = co_await state.lease.link().read_some(into, patience(), &bytes);
    if (end != LinkEnd::None) co_return fail(ended(end));
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
