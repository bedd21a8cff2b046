// TlsStream: a Stream inside another one.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <openssl/ssl.h>

#include "platform/net.h"
#include "platform/tls.h"

namespace ron::platform {

template <auto Release>
struct OpensslRelease {
  template <class T>
  void operator()(T* object) const noexcept {
    Release(object);
  }
};
using SslPtr = std::unique_ptr<SSL, OpensslRelease<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpensslRelease<SSL_CTX_free>>;

// The first error OpenSSL noted on this thread, in words; forgets the others.
std::string openssl_error();

// One executor, like the stream inside. OpenSSL reads the inner stream directly; what it writes is
// gathered in `sealed_` and leaves in as few writes as the inner stream takes.
class TlsStream final : public Stream {
 public:
  // `ssl` knows its side and has no BIOs yet; `server` is the name of the other side where that is
  // a server, and `client` what remembers its sessions.
  TlsStream(std::unique_ptr<Stream> inner, SslPtr ssl, std::string server,
            std::shared_ptr<const void> client);
  ~TlsStream() override;

  IoResult try_read(base::MutableBytes into) noexcept override;
  using Stream::try_write;
  IoResult try_write(std::span<const base::ByteView> spans, Flush flush) noexcept override;
  void keep_little_unsent() noexcept override { inner_->keep_little_unsent(); }
  void shutdown_write() noexcept override;
  void abort() noexcept override;
  [[nodiscard]] const Endpoint& peer() const noexcept override { return inner_->peer(); }
  [[nodiscard]] bool is_secure() const noexcept override { return true; }
  [[nodiscard]] std::optional<std::uint32_t> peer_uid() const noexcept override {
    return inner_->peer_uid();
  }
  [[nodiscard]] bool needs_handshake() const noexcept override { return !agreed_; }
  Task<base::Result<>> handshake(TimePoint deadline) override;
  // The handshake took up an earlier session.
  [[nodiscard]] bool resumed() const noexcept { return SSL_session_reused(ssl_.get()) == 1; }

 private:
  static constexpr std::size_t kRecordBytes = 16 * 1024;  // of plain text, TLS's largest
  static constexpr std::size_t kSealAtOnce = 4 * kRecordBytes;
  static_assert(kSealAtOnce + 2 * kRecordBytes < kTlsStreamBytes);

  // What OpenSSL calls to read and write.
  static const BIO_METHOD* bio_method() noexcept;
  static int bio_read(BIO* bio, char* into, std::size_t bytes, std::size_t* moved) noexcept;
  static int bio_write(BIO* bio, const char* from, std::size_t bytes, std::size_t* moved) noexcept;
  static long bio_control(BIO* bio, int command, long number, void* pointer) noexcept;

  // A coroutine that begins at once and goes with its owner.
  class Flow {
   public:
    struct promise_type {
      Flow get_return_object() noexcept {
        return Flow(std::coroutine_handle<promise_type>::from_promise(*this));
      }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void return_void() noexcept {}
      void unhandled_exception() noexcept { std::terminate(); }
    };
    Flow() = default;
    Flow(const Flow&) = delete;
    Flow& operator=(Flow&& other) noexcept {
      std::swap(frame_, other.frame_);
      return *this;
    }
    ~Flow() {
      if (frame_) frame_.destroy();
    }

   private:
    explicit Flow(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
    std::coroutine_handle<promise_type> frame_;
  };

  // Sends the rest and the end of the stream, when the peer takes them.
  Flow finish();
  // Sends what is sealed. Moved when nothing is left.
  IoResult flush() noexcept;
  // Seals up to kSealAtOnce of the spans; how many plain bytes that were.
  base::Result<std::size_t> seal(std::span<const base::ByteView> spans);
  bool seal_record(base::ByteView plain) noexcept;
  [[nodiscard]] base::Error disagreement() const;

  std::shared_ptr<const void> client_;
  std::string server_;  // where SSL_get_app_data points
  std::unique_ptr<Stream> inner_;
  SslPtr ssl_;
  std::vector<std::byte> sealed_;  // records that wait to be sent, from sent_ on
  std::size_t sent_ = 0;
  std::size_t unreported_ = 0;  // plain bytes in sealed_, which count as written when it is empty
  IoResult last_read_ = IoResult::blocked();
  bool agreed_ = false;
  bool finished_ = false;  // no more writing
  bool aborted_ = false;
  Flow finishing_;  // last: it uses all of the above
};

}  // namespace ron::platform
