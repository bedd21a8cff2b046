#include "platform/tls_stream.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

#include "platform/tls_details.h"

namespace ron::platform {

std::string openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason != nullptr ? reason : "unknown error";
}

namespace {

// What somebody is told who speaks plain HTTP to a port with TLS: the envelope of errors, closed.
constexpr std::string_view kUseHttps =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 149\r\n"
    "Connection: close\r\n\r\n"
    R"({"error":{"code":"Malformed","message":"this port speaks TLS: use https:// instead of )"
    R"(http://","corr_id":"00000000000000000000000000","details":{}}})"
    "\n";
constexpr std::size_t kUseHttpsHead = kUseHttps.find("\r\n\r\n") + 4;
static_assert(kUseHttps.size() - kUseHttpsHead == 149);

bool is_plain_http() noexcept { return ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST; }

// Aborts a stream when the time has come.
class Alarm : private Timer {
 public:
  Alarm(Stream& stream, TimePoint at) noexcept
      : Timer(&Alarm::fired), executor_(*Executor::current()), stream_(stream) {
    if (at != kNever) executor_.arm(*this, at);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() {
    if (armed()) executor_.disarm(*this);
  }
  [[nodiscard]] bool rang() const noexcept { return rang_; }

 private:
  static void fired(Timer& timer) noexcept {
    auto& alarm = static_cast<Alarm&>(timer);
    alarm.rang_ = true;
    alarm.stream_.abort();
  }

  Executor& executor_;
  Stream& stream_;
  bool rang_ = false;
};

TlsStream& owner(BIO* bio) noexcept { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

}  // namespace

const BIO_METHOD* TlsStream::bio_method() noexcept {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ron stream");
    BIO_meth_set_read_ex(made, &TlsStream::bio_read);
    BIO_meth_set_write_ex(made, &TlsStream::bio_write);
    BIO_meth_set_ctrl(made, &TlsStream::bio_control);
    return made;
  }();
  return method;
}

int TlsStream::bio_read(BIO* bio, char* into, std::size_t bytes, std::size_t* moved) noexcept {
  TlsStream& stream = owner(bio);
  BIO_clear_retry_flags(bio);
  stream.last_read_ = stream.inner_->try_read({reinterpret_cast<std::byte*>(into), bytes});
  *moved = stream.last_read_.bytes;
  if (stream.last_read_.would_block()) BIO_set_retry_read(bio);
  return stream.last_read_.ok() && *moved > 0 ? 1 : 0;
}

int TlsStream::bio_write(BIO* bio, const char* from, std::size_t bytes,
                         std::size_t* moved) noexcept {
  TlsStream& stream = owner(bio);
  BIO_clear_retry_flags(bio);
  const auto* const first = reinterpret_cast<const std::byte*>(from);
  stream.sealed_.insert(stream.sealed_.end(), first, first + bytes);
  *moved = bytes;
  return 1;
}

long TlsStream::bio_control(BIO*, int command, long, void*) noexcept {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

TlsStream::TlsStream(std::unique_ptr<Stream> inner, SslPtr ssl, std::string server,
                     std::shared_ptr<const void> client)
    : Stream(*inner),
      client_(std::move(client)),
      server_(std::move(server)),
      inner_(std::move(inner)),
      ssl_(std::move(ssl)) {
  SSL_set_app_data(ssl_.get(), &server_);
  BIO* const bio = BIO_new(bio_method());
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_mode(ssl_.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_set_read_ahead(ssl_.get(), 1);
}

TlsStream::~TlsStream() { ERR_clear_error(); }

IoResult TlsStream::flush() noexcept {
  while (sent_ < sealed_.size()) {
    const base::ByteView rest = base::ByteView(sealed_).subspan(sent_);
    const IoResult result = inner_->try_write({&rest, 1}, Flush::Now);
    if (!result.ok()) return result;
    sent_ += result.bytes;
  }
  sealed_.clear();
  sent_ = 0;
  return IoResult::moved(0);
}

IoResult TlsStream::try_read(base::MutableBytes into) noexcept {
  if (aborted_ || into.empty()) return inner_->try_read(into);
  ERR_clear_error();
  std::size_t bytes = 0;
  last_read_ = IoResult::blocked();
  if (SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes) == 1) {
    // The inner stream may have been emptied although there is more in here.
    if (SSL_has_pending(ssl_.get()) == 1) readable().set();
    return IoResult::moved(bytes);
  }
  const int why = SSL_get_error(ssl_.get(), 0);
  // What the peer must hear of it, an alert or a new key, goes as far as it goes now.
  const IoResult flushed = flush();
  if (why == SSL_ERROR_ZERO_RETURN) {
    gone().set();
    return IoResult::eof();
  }
  if (why == SSL_ERROR_WANT_READ) {
    if (flushed.ok() && sealed_.capacity() > 0) std::vector<std::byte>().swap(sealed_);
    return IoResult::blocked();
  }
  if (last_read_.kind == IoResult::Kind::Failed) return last_read_;
  // The end of the stream without the end of the TLS session: somebody may have cut it.
  return IoResult::failed(last_read_.kind == IoResult::Kind::Eof ? ECONNRESET : EPROTO);
}

bool TlsStream::seal_record(base::ByteView plain) noexcept {
  std::size_t taken = 0;
  return SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &taken) == 1 && taken == plain.size();
}

base::Result<std::size_t> TlsStream::seal(std::span<const base::ByteView> spans) {
  ERR_clear_error();
  std::array<std::byte, kRecordBytes> gathered;  // NOLINT: filled below
  std::size_t held = 0;
  std::size_t total = 0;
  const auto broken = [] { return base::fail(base::Code::UpstreamFail, openssl_error()); };
  for (base::ByteView span : spans.first(std::min(spans.size(), kGatherSpans))) {
    while (!span.empty() && total < kSealAtOnce) {
      // Small pieces share a record; a whole record is sealed from where it lies.
      const std::size_t part = std::min(span.size(), kRecordBytes - held);
      if (held == 0 && part == kRecordBytes) {
        if (!seal_record(span.first(part))) return broken();
      } else {
        std::memcpy(gathered.data() + held, span.data(), part);
        held += part;
        if (held == kRecordBytes) {
          if (!seal_record(gathered)) return broken();
          held = 0;
        }
      }
      span = span.subspan(part);
      total += part;
    }
  }
  if (held > 0 && !seal_record(base::ByteView(gathered).first(held))) return broken();
  return total;
}

IoResult TlsStream::try_write(std::span<const base::ByteView> spans, Flush) noexcept {
  // A connection that is not there yet, or not any more.
  if (!agreed_ || aborted_) return inner_->try_write({}, Flush::Now);
  if (finished_) return IoResult::failed(EPIPE);
  IoResult flushed = flush();
  if (!flushed.ok()) return flushed;
  if (unreported_ == 0) {
    const base::Result<std::size_t> sealed = seal(spans);
    if (!sealed) return IoResult::failed(EPROTO);
    unreported_ = *sealed;
    flushed = flush();
    if (!flushed.ok()) return flushed;
  }
  return IoResult::moved(std::exchange(unreported_, 0));
}

void TlsStream::abort() noexcept {
  aborted_ = true;
  inner_->abort();
}

TlsStream::Flow TlsStream::finish() {
  for (IoResult flushed = flush(); flushed.would_block(); flushed = flush()) {
    co_await inner_->writable().wait();
  }
  inner_->shutdown_write();
}

void TlsStream::shutdown_write() noexcept {
  if (std::exchange(finished_, true)) return;
  // A write that was given up half-way leaves no way to say that it ended well.
  if (!agreed_ || unreported_ > 0) return inner_->shutdown_write();
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  finishing_ = finish();
}

base::Error TlsStream::disagreement() const {
  const long verdict = SSL_get_verify_result(ssl_.get());
  const std::string with = "TLS with " + inner_->peer().text() + ": ";
  if (verdict == X509_V_OK) return {base::Code::UpstreamFail, with + openssl_error()};
  const std::string why = X509_verify_cert_error_string(verdict);
  return base::Error(base::Code::UpstreamFail, with + why)
      .with(std::string(kCertificateDetail), why);
}

Task<base::Result<>> TlsStream::handshake(TimePoint deadline) {
  const Alarm alarm(*inner_, deadline);
  const auto cut = [&](const IoResult& result) {
    return alarm.rang()
               ? base::fail(base::Code::Timeout, "TLS with " + inner_->peer().text() +
                                                     ": no agreement within the time given")
               : base::fail(base::Code::UpstreamFail,
                            "TLS with " + inner_->peer().text() + ": " +
                                (result.kind == IoResult::Kind::Eof ? "the peer hung up"
                                                                    : std::strerror(result.error)));
  };
  for (;;) {
    ERR_clear_error();
    last_read_ = IoResult::blocked();
    const int done = SSL_do_handshake(ssl_.get());
    const int why = done == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), done);
    const bool agreed = done == 1;
    base::Error refusal;
    if (!agreed && why != SSL_ERROR_WANT_READ) {
      if (is_plain_http()) {
        const base::ByteView told = base::as_bytes(kUseHttps);
        sealed_.assign(told.begin(), told.end());
      }
      refusal = disagreement();
    }
    IoResult flushed = flush();
    while (flushed.would_block()) {
      co_await inner_->writable().wait();
      flushed = flush();
    }
    if (agreed && flushed.ok()) break;
    if (!flushed.ok()) co_return cut(flushed);
    if (why != SSL_ERROR_WANT_READ) {
      if (!last_read_.ok() && !last_read_.would_block()) co_return cut(last_read_);
      co_return base::fail(std::move(refusal));
    }
    co_await inner_->readable().wait();
  }
  agreed_ = true;
  if (SSL_has_pending(ssl_.get()) == 1) readable().set();
  co_return base::Result<>();
}

}  // namespace ron::platform
