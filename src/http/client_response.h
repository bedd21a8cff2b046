// ClientResponse: the answer of an upstream. The head is there; the body is pulled piece by piece.
//
// Holds its connection until the body has been read to its end; then the connection goes back to
// the pool at once. Dropped earlier, the connection is closed: nobody can tell how much would have
// to be read to save it. Move-only; same executor as its client, which outlives it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/buffer.h"
#include "base/result.h"
#include "http/chunked.h"
#include "http/client_metrics.h"
#include "http/client_pool.h"
#include "http/response_head.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::http {

// A read buffer that finds its way back to its pool.
class HeldBuffer {
 public:
  HeldBuffer() = default;
  HeldBuffer(BufferPool& pool, std::unique_ptr<ReadBuffer> buffer) noexcept
      : pool_(&pool), buffer_(std::move(buffer)) {}
  HeldBuffer(HeldBuffer&& other) noexcept : pool_(other.pool_), buffer_(std::move(other.buffer_)) {}
  HeldBuffer& operator=(HeldBuffer&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~HeldBuffer() {
    if (buffer_) pool_->give_back(std::move(buffer_));
  }
  [[nodiscard]] std::span<char> memory() noexcept {
    return {reinterpret_cast<char*>(buffer_->bytes.data()), buffer_->bytes.size()};
  }

 private:
  BufferPool* pool_ = nullptr;
  std::unique_ptr<ReadBuffer> buffer_;
};

class ClientResponse {
 public:
  [[nodiscard]] int status() const noexcept { return state_->head.status; }
  // All fields as received, hop-by-hop ones included. Views live as long as the response.
  [[nodiscard]] const ParsedResponse& head() const noexcept { return state_->head; }

  // The next piece of the body without its transfer coding; empty at the end. Valid until the next
  // call. UpstreamFail (closed early, malformed), Timeout or Canceled. Cancel-safe.
  platform::Task<base::Result<base::ByteView>> next();
  // The rest of the body, at most `cap_bytes`; a longer one is UpstreamFail. It is in the memory of
  // `spare` if its length is known and that suffices. Cancel-safe.
  platform::Task<base::Result<base::Buffer>> read_all(std::uint64_t cap_bytes,
                                                      base::Buffer spare = {});
  // Everything was read.
  [[nodiscard]] bool finished() const noexcept { return state_->finished; }

  // Until now the body is under the deadline given to send(); from now on under this one.
  void set_deadline(runtime::Deadline deadline) noexcept { state_->deadline = deadline; }

 private:
  friend class Client;
  struct State {
    ParsedResponse head;
    HeldBuffer head_buffer;  // what the head's views point into
    HeldBuffer last_piece;   // the same for the last piece, once the connection is gone
    ClientPool::Lease lease;
    BufferPool* buffers = nullptr;
    ClientMeters* meters = nullptr;
    base::Duration read_timeout{};
    runtime::Deadline deadline;
    std::uint64_t left = 0;  // of a body with a length
    ChunkedDecoder chunks;
    bool reusable = false;  // the connection may serve another request after this one
    bool finished = false;
  };
  explicit ClientResponse(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

  // The request is out and the head was parsed: `head_bytes` of what is pending belong to it.
  void begin_body(std::size_t head_bytes, bool sent_whole);
  void finish(bool in_sync);
  base::Result<base::ByteView> take_buffered();
  base::Result<base::ByteView> take_chunked();
  platform::Task<base::Result<base::Buffer>> read_exactly(std::uint64_t length, base::Buffer spare);
  platform::Task<base::Result<base::Buffer>> read_pieces(std::uint64_t cap_bytes);
  [[nodiscard]] platform::TimePoint patience() const;
  base::Error ended(LinkEnd end);
  base::Error too_large(std::uint64_t cap_bytes);

  std::unique_ptr<State> state_;
};

}  // namespace ron::http
