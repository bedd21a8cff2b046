// ClientResponse: the answer of an upstream. The head is there; the body is pulled piece by piece.
//
// Holds its connection until the body has been read to its end; then the connection goes back to
// the pool at once. Dropped earlier, the connection is closed: nobody can tell how much would have
// to be read to save it. Nothing is read ahead of the caller: what it does not take stays with the
// upstream. One that came from an upstream group tells its member how it ended. Move-only; same
// executor as its client, which outlives it, as its group does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/buffer.h"
#include "base/result.h"
#include "http/body_source.h"
#include "http/chunked.h"
#include "http/client_metrics.h"
#include "http/client_pool.h"
#include "http/pool.h"
#include "http/response_head.h"
#include "http/upstream_attempt.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::http {

// Where pieces of a body are read into. A response holds one only from the first byte that did not
// come with the head, and not while it waits for the upstream.
struct BodyBuffer {
  static constexpr std::size_t kBytes = 64 * base::kKiB;
  std::array<std::byte, kBytes> bytes;
};
using BodyBufferPool = Pool<BodyBuffer, 32>;
using HeldBody = Held<BodyBuffer, 32>;
using HeldBuffer = Held<ReadBuffer>;

class ClientResponse {
 public:
  [[nodiscard]] int status() const noexcept { return state_->head.status; }
  // All fields as received, hop-by-hop ones included. Views live as long as the response.
  [[nodiscard]] const ParsedResponse& head() const noexcept { return state_->head; }

  // The next piece of the body without its transfer coding, at most BodyBuffer::kBytes; empty at
  // the end. Valid until the next call. UpstreamFail (closed early, malformed), Timeout or
  // Canceled: what came before is then not the whole body. Cancel-safe.
  platform::Task<base::Result<base::ByteView>> next();
  // The rest of the body, at most `cap_bytes`; a longer one is UpstreamFail. It is in the memory of
  // `spare` if its length is known and that suffices. Cancel-safe.
  platform::Task<base::Result<base::Buffer>> read_all(std::uint64_t cap_bytes,
                                                      base::Buffer spare = {});
  // Everything was read; also known with the last piece, if that came with the end.
  [[nodiscard]] bool finished() const noexcept { return state_->finished; }

  // The member of an upstream group that answered; null if it was asked otherwise.
  [[nodiscard]] const UpstreamMember* upstream() const noexcept { return state_->attempt.member(); }

  // Until now the body is under the deadline given to send(); from now on under this one.
  void set_deadline(runtime::Deadline deadline) noexcept { state_->deadline = deadline; }

 private:
  friend class Client;
  friend class UpstreamGroup;
  // Less than this is not worth a copy of what came before it.
  static constexpr std::size_t kWorthGathering = 16 * base::kKiB;

  struct State {
    // One for each request: as quick to have as a frame.
    static void* operator new(std::size_t bytes) { return platform::allocate_frame(bytes); }
    static void operator delete(void* state, std::size_t bytes) noexcept {
      platform::release_frame(state, bytes);
    }

    ParsedResponse head;
    HeldBuffer head_buffer;  // what the head's views point into, and the first piece
    HeldBody body_buffer;    // the same for later pieces
    std::span<char> unread;  // received and not handed out, in one of the two
    ClientPool::Lease lease;
    BufferPool* buffers = nullptr;
    BodyBufferPool* body_buffers = nullptr;
    ClientMeters* meters = nullptr;
    base::Duration read_timeout{};
    runtime::Deadline deadline;
    std::uint64_t left = 0;  // of a body with a length
    ChunkedDecoder chunks;
    UpstreamAttempt attempt;  // of an upstream group
    bool reusable = false;    // the connection may serve another request after this one
    bool finished = false;
  };
  explicit ClientResponse(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

  // The request is out and the head was parsed: `head_bytes` of what is pending belong to it.
  void begin_body(std::size_t head_bytes, bool sent_whole);
  // From now on it is told how the answer ends.
  void attach(UpstreamAttempt attempt);
  void finish(bool in_sync);
  base::Result<base::ByteView> take_unread();
  base::Result<base::ByteView> take_chunks();
  void gather();
  platform::Task<LinkEnd> fill();
  platform::Task<base::Result<base::Buffer>> read_exactly(std::uint64_t length, base::Buffer spare);
  platform::Task<base::Result<base::Buffer>> read_pieces(std::uint64_t cap_bytes);
  [[nodiscard]] platform::TimePoint patience() const;
  // `waited_since`: when the wait began that ended so.
  base::Error ended(LinkEnd end, platform::TimePoint waited_since);
  base::Error too_large(std::uint64_t cap_bytes);

  std::unique_ptr<State> state_;
};

// The body of an answer, of a client or of an upstream group, for whoever sends it on piece by
// piece. Its length, if the answer said one, is head().content_length.
class UpstreamBody final : public BodySource {
 public:
  explicit UpstreamBody(ClientResponse response) noexcept : response_(std::move(response)) {}
  // As ClientResponse::next. Cancel-safe.
  platform::Task<base::Result<base::ByteView>> next() override { return response_.next(); }

 private:
  ClientResponse response_;
};

}  // namespace ron::http
