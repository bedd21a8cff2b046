// BodyReader: a request's body, read on demand under the server's limits.
//
// Nothing is read before a handler asks, so a request refused early costs no bytes. The first read
// answers `Expect: 100-continue`. Caps hold at every step, whatever the framing: raw bytes
// (BodyCap), decoded bytes and their ratio (DecodedCap, DecodedRatio), and for both what the
// request's capability allows (Forbidden). Each wait for the peer is under the connection's
// watchdog, which a dribble does not reset: the read timeout must bring Wire::kProgressBytes or the
// rest of the body.
//
// A decoder takes megabytes and a client may take its time: an encoded body is read to its end
// first and then decoded at once, one at a time on each core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "http/chunked.h"
#include "http/decode_guard.h"
#include "http/head.h"
#include "http/settings.h"
#include "platform/executor.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/permit.h"

namespace ron::http {

class Wire;
struct RejectionMeters;
enum class WireEnd : std::uint8_t;

// Told when a whole body is waited for, by whoever holds something meanwhile that others want.
class BodyWatch {
 public:
  BodyWatch() = default;
  BodyWatch(const BodyWatch&) = delete;
  BodyWatch& operator=(const BodyWatch&) = delete;

  // The client is what is waited for, from now on.
  virtual void wait_begins() noexcept = 0;
  // The body is there: once this has resolved, its reader goes on. An error is the reader's.
  // Cancel-safe.
  virtual platform::Task<base::Result<>> wait_ends() = 0;

 protected:
  ~BodyWatch() = default;
};

class BodyReader {
 public:
  BodyReader(Wire& wire, const RequestHead& head, const ServerSettings& settings, Coding coding,
             runtime::Semaphore& decoders, const RejectionMeters& rejections);

  // The request's deadline, once it is known: dribbling a body does not stretch it.
  void set_deadline(runtime::Deadline deadline) noexcept { deadline_ = deadline; }
  // Null: nobody wants to know. It outlives its use here.
  void set_watch(BodyWatch* watch) noexcept { watch_ = watch; }
  // How the body is encoded, once the head's Content-Encoding was checked.
  void set_coding(Coding coding) noexcept { coding_ = coding; }
  // The body is handed on to a service with limits of its own: the tighter ones hold.
  void tighten(const BodyLimits& limits) noexcept;
  // The request's capability allows no larger body, neither as it comes nor decoded. From now on
  // every reader that goes beyond is told Forbidden, also one in another service of the process.
  // Forbidden at once if more than that was read already. Of several capabilities the smallest
  // bound holds.
  base::Result<> allow_at_most(std::uint64_t bytes) noexcept;

  // As much of the body has arrived as is kept without a reader: all of it, or a buffer full.
  [[nodiscard]] bool has_start() const noexcept;
  // There may be more of it than that.
  [[nodiscard]] bool may_be_large() const noexcept;
  // Waits for the start, no longer than `patience`, and leaves the bytes where they are. A client
  // that asked for consent waits for us, so that it is not waited for. Errors as of next_raw().
  // Cancel-safe.
  platform::Task<base::Result<>> await_start(base::Duration patience);

  // The next piece as it came over the wire; empty at the end. Valid until the next call.
  // Errors: BodyCap, Forbidden (the capability's max_bytes), ReadTimeout, Timeout (the deadline),
  // Malformed (also when the peer left half-way). Cancel-safe.
  platform::Task<base::Result<base::ByteView>> next_raw();

  // The whole body after guarded decoding. Timeout also when no decoder came free before the
  // deadline. Cancel-safe.
  platform::Task<base::Result<base::Buffer>> read_all();

  // The whole body as it came, once what it decodes to was found to be within the limits: for
  // whoever hands it on. As read_all() otherwise. Cancel-safe.
  platform::Task<base::Result<base::Buffer>> read_checked();

  [[nodiscard]] bool is_encoded() const noexcept { return coding_ != Coding::Identity; }

  // From now on the body is only read to be dropped: until `deadline`, without a cap, and not when
  // the connection is told to end. False when the peer sends nothing because it waits for
  // 100-continue.
  bool start_dropping(runtime::Deadline deadline) noexcept;

  // The body has been read to its end, or there is none.
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  // When that was, if there is one.
  [[nodiscard]] platform::TimePoint finished_at() const noexcept { return finished_at_; }
  // A write of ours (100-continue) began and did not end well: whatever is sent now would be taken
  // for the rest of it, so nothing may be.
  [[nodiscard]] bool broke_off() const noexcept { return broke_off_; }
  // The peer was too slow with it.
  [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }

 private:
  using Whole = platform::Task<base::Result<base::Buffer>>;
  // All of the body has arrived.
  [[nodiscard]] bool is_here() const noexcept;
  // The watch is told of the reading, if it has to wait.
  Whole watched(Whole reading);
  Whole watch_over(Whole reading);
  Whole read_checked_now();
  // Waits until more has arrived, or `latest` has passed.
  platform::Task<WireEnd> await_more(platform::TimePoint latest);
  platform::Task<base::Result<base::Buffer>> read_plain(std::uint64_t length);
  platform::Task<base::Result<base::Buffer>> read_chunked();
  platform::Task<base::Result<base::Buffer>> read_encoded();
  platform::Task<base::Result<base::Buffer>> read_decoded();
  // The bytes outlive the task.
  platform::Task<base::Result<>> decode(base::ByteView encoded, std::vector<std::byte>* into);
  base::Result<base::ByteView> take_buffered();
  base::Result<base::ByteView> take_chunked();
  platform::Task<WireEnd> tell_to_continue();
  base::Error wire_error(WireEnd end) const;
  // A body that comes to so many bytes on the wire.
  base::Result<> check_size(std::uint64_t bytes) const;
  // What decoding may come to: the decode cap, or less if the capability allows less.
  [[nodiscard]] std::uint64_t decoded_most() const noexcept {
    return std::min(limits_.decode_abs_cap_bytes, granted_);
  }
  // The error of a decoder that was given decoded_most(), as the client is told.
  base::Error decode_error(base::Error error) const;
  // Counts a body that does not keep to the limits.
  [[nodiscard]] std::unexpected<base::Error> refuse(base::Error error) const;
  void finish() noexcept;

  Wire& wire_;
  BodyLimits limits_;
  std::uint64_t granted_ = UINT64_MAX;  // what the request's capability allows
  std::uint64_t decoded_ = 0;           // what it decoded to
  const base::Duration read_timeout_;
  const base::Duration write_timeout_;
  runtime::Semaphore& decoders_;
  const RejectionMeters& rejections_;
  Coding coding_;
  bool chunked_;
  bool continue_owed_;
  bool finished_;
  platform::TimePoint finished_at_{};
  bool timed_out_ = false;
  bool broke_off_ = false;
  bool dropping_ = false;
  const std::uint64_t length_;                      // of a body with a length
  std::uint64_t left_;                              // of it
  platform::TimePoint more_by_ = platform::kNever;  // when kProgressBytes more must have arrived
  std::size_t since_ = 0;                           // bytes since more_by_ was set
  ChunkedDecoder chunks_;
  runtime::Deadline deadline_;
  BodyWatch* watch_ = nullptr;
};

}  // namespace ron::http
