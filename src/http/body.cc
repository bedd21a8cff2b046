#include "http/body.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "auth/grant.h"
#include "http/ingress.h"
#include "http/message.h"
#include "http/wire.h"

namespace ron::http {

using base::Code;
using base::fail;

namespace {

// Whoever sends no more of a body that is dropped anyway has seen the answer, or never will.
constexpr base::Duration kDropPause = std::chrono::seconds(1);

base::Buffer buffer_of(const std::vector<std::byte>& bytes) {
  base::Buffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

}  // namespace

BodyReader::BodyReader(Wire& wire, const RequestHead& head, const ServerSettings& settings,
                       Coding coding, runtime::Semaphore& decoders,
                       const RejectionMeters& rejections)
    : wire_(wire),
      limits_(settings.body_limits()),
      read_timeout_(settings.read_timeout),
      write_timeout_(settings.write_timeout),
      decoders_(decoders),
      rejections_(rejections),
      coding_(coding),
      chunked_(head.chunked),
      continue_owed_(head.expect_continue),
      finished_(!head.has_body()),
      length_(head.content_length.value_or(0)),
      left_(length_) {}

void BodyReader::tighten(const BodyLimits& limits) noexcept {
  if (limits.max_body_bytes < limits_.max_body_bytes) {
    limits_.max_body_bytes = limits.max_body_bytes;
    limits_.larger_body_advice = limits.larger_body_advice;
  }
  limits_.decode_abs_cap_bytes =
      std::min(limits_.decode_abs_cap_bytes, limits.decode_abs_cap_bytes);
  limits_.decode_ratio_max = std::min(limits_.decode_ratio_max, limits.decode_ratio_max);
}

base::Result<> BodyReader::allow_at_most(std::uint64_t bytes) noexcept {
  granted_ = std::min(granted_, bytes);
  if (std::max({length_, chunks_.total(), decoded_}) <= granted_) return {};
  return refuse(auth::body_beyond(granted_));
}

base::Error BodyReader::wire_error(WireEnd end) const {
  if (end != WireEnd::TimedOut) {
    return {Code::Malformed, "the body ended before it was complete"};
  }
  if (deadline_.passed()) {
    return {Code::Timeout, "the body did not arrive before the request's deadline"};
  }
  return {Code::ReadTimeout, "the body did not arrive within the read timeout"};
}

std::unexpected<base::Error> BodyReader::refuse(base::Error error) const {
  if (error.code == Code::BodyCap) rejections_.body_cap.add();
  if (error.code == Code::DecodedCap) rejections_.decoded_cap.add();
  if (error.code == Code::DecodedRatio) rejections_.decoded_ratio.add();
  if (error.code == Code::Forbidden) rejections_.capability.add();
  return fail(std::move(error));
}

base::Result<> BodyReader::check_size(std::uint64_t bytes) const {
  if (bytes > limits_.max_body_bytes) return refuse(body_too_large(limits_));
  if (bytes > granted_) return refuse(auth::body_beyond(granted_));
  return {};
}

base::Error BodyReader::decode_error(base::Error error) const {
  const bool is_granted_less = granted_ < limits_.decode_abs_cap_bytes;
  if (error.code != Code::DecodedCap || !is_granted_less) return error;
  return auth::body_beyond(granted_);
}

void BodyReader::finish() noexcept {
  finished_ = true;
  finished_at_ = platform::Executor::current()->now();
}

// What is in the buffer already, as far as it belongs to this body; empty when more must arrive.
base::Result<base::ByteView> BodyReader::take_buffered() {
  if (chunked_) return take_chunked();
  if (!dropping_) {
    const base::Result<> fits = check_size(length_);
    if (!fits) return fail(fits.error());
  }
  const std::string_view pending = wire_.pending();
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(pending.size(), left_));
  wire_.consume(size);
  left_ -= size;
  if (left_ == 0) finish();
  return base::as_bytes(pending.substr(0, size));
}

base::Result<base::ByteView> BodyReader::take_chunked() {
  while (!finished_) {
    const ChunkStep step = chunks_.feed(wire_.pending());
    if (step.kind == ChunkStep::Kind::Bad) return fail(step.refusal.error());
    wire_.consume(step.consumed);
    if (!dropping_) {
      const base::Result<> fits = check_size(chunks_.total() + chunks_.chunk_left());
      if (!fits) return fail(fits.error());
    }
    if (step.kind == ChunkStep::Kind::Data) return base::as_bytes(step.data);
    if (step.kind == ChunkStep::Kind::End) finish();
    if (step.kind == ChunkStep::Kind::NeedMore) break;
  }
  return base::ByteView();
}

platform::Task<WireEnd> BodyReader::tell_to_continue() {
  broke_off_ = true;  // also when whoever reads is dropped meanwhile
  const WireEnd told = co_await wire_.write({base::as_bytes(kContinue)}, write_timeout_);
  broke_off_ = told != WireEnd::None;
  co_return told;
}

// Chunks are counted by a copy of the decoder: they are taken apart when somebody reads them.
bool BodyReader::is_here() const noexcept {
  if (finished_) return true;
  const std::string_view pending = wire_.pending();
  if (!chunked_) return pending.size() >= left_;
  ChunkedDecoder ahead = chunks_;
  for (std::string_view rest = pending; !rest.empty();) {
    const ChunkStep step = ahead.feed(rest);
    const bool is_over = step.kind == ChunkStep::Kind::End || step.kind == ChunkStep::Kind::Bad;
    if (is_over) return true;
    if (step.kind == ChunkStep::Kind::NeedMore) break;
    rest.remove_prefix(step.consumed);
  }
  return false;
}

bool BodyReader::has_start() const noexcept {
  return wire_.pending().size() >= ReadBuffer::kBytes || is_here();
}

bool BodyReader::may_be_large() const noexcept { return chunked_ || left_ > ReadBuffer::kBytes; }

platform::Task<base::Result<>> BodyReader::await_start(base::Duration patience) {
  const platform::TimePoint latest = runtime::Deadline::in(patience).at();
  while (!has_start() && !continue_owed_) {
    const WireEnd end = co_await await_more(latest);
    const platform::TimePoint now = platform::Executor::current()->now();
    const bool is_slow = end == WireEnd::TimedOut && now < std::min(more_by_, deadline_.at());
    if (is_slow) break;
    timed_out_ = end == WireEnd::TimedOut;
    if (end != WireEnd::None) co_return fail(wire_error(end));
  }
  co_return base::Result<>();
}

platform::Task<WireEnd> BodyReader::await_more(platform::TimePoint latest) {
  const platform::TimePoint now = platform::Executor::current()->now();
  if (more_by_ == platform::kNever || since_ >= Wire::kProgressBytes) {
    more_by_ = now + (dropping_ ? std::min(kDropPause, read_timeout_) : read_timeout_);
    since_ = 0;
  }
  if (wire_.turn_is_over()) co_await wire_.give_way();
  const std::size_t before = wire_.pending().size();
  wire_.watch(std::min({more_by_, deadline_.at(), latest}));
  WireEnd end = co_await wire_.fill();
  while (end == WireEnd::Interrupted && !dropping_) end = co_await wire_.fill();
  wire_.unwatch();
  if (end == WireEnd::None) since_ += wire_.pending().size() - before;
  co_return end;
}

platform::Task<base::Result<base::ByteView>> BodyReader::next_raw() {
  while (!finished_) {
    const base::Result<base::ByteView> piece = take_buffered();
    if (!piece || !piece->empty()) co_return piece;
    if (finished_) break;
    if (std::exchange(continue_owed_, false)) {
      const WireEnd told = co_await tell_to_continue();
      if (told != WireEnd::None) co_return fail(wire_error(told));
    }
    const WireEnd end = co_await await_more(platform::kNever);
    timed_out_ = end == WireEnd::TimedOut;
    if (end != WireEnd::None) co_return fail(wire_error(end));
  }
  co_return base::ByteView();
}

bool BodyReader::start_dropping(runtime::Deadline deadline) noexcept {
  if (std::exchange(continue_owed_, false) && wire_.pending().empty()) return false;
  dropping_ = true;
  deadline_ = deadline;
  more_by_ = platform::kNever;
  return true;
}

platform::Task<base::Result<base::Buffer>> BodyReader::read_all() {
  if (coding_ != Coding::Identity) return watched(read_decoded());
  return watched(chunked_ ? read_chunked() : read_plain(left_));
}

BodyReader::Whole BodyReader::watched(Whole reading) {
  if (watch_ == nullptr || is_here()) return reading;
  return watch_over(std::move(reading));
}

BodyReader::Whole BodyReader::watch_over(Whole reading) {
  watch_->wait_begins();
  base::Result<base::Buffer> body = co_await reading;
  if (!body) co_return body;
  const base::Result<> ended = co_await watch_->wait_ends();
  if (!ended) co_return fail(ended.error());
  co_return body;
}

// A body of known length goes straight into its final place.
platform::Task<base::Result<base::Buffer>> BodyReader::read_plain(std::uint64_t length) {
  const base::Result<> fits = check_size(length_);
  if (!fits) co_return fail(fits.error());
  base::Buffer body(static_cast<std::size_t>(length));
  if (length == 0) co_return std::move(body);
  if (std::exchange(continue_owed_, false) && wire_.pending().empty()) {
    const WireEnd told = co_await tell_to_continue();
    if (told != WireEnd::None) co_return fail(wire_error(told));
  }
  const WireEnd end = co_await wire_.read_exactly(body.span(), read_timeout_, deadline_.at());
  timed_out_ = end == WireEnd::TimedOut;
  if (end != WireEnd::None) co_return fail(wire_error(end));
  left_ = 0;
  finish();
  co_return std::move(body);
}

// One that needs no decoding is held to the cap for what comes out of decoding as well.
platform::Task<base::Result<base::Buffer>> BodyReader::read_chunked() {
  const bool is_final = coding_ == Coding::Identity;
  DecodeGuard guard(Coding::Identity, {is_final ? limits_.decode_abs_cap_bytes : UINT64_MAX});
  std::vector<std::byte> body;
  const auto keep = [&body](base::ByteView piece) -> base::Result<> {
    body.insert(body.end(), piece.begin(), piece.end());
    return {};
  };
  for (;;) {
    const base::Result<base::ByteView> piece = co_await next_raw();
    if (!piece) co_return fail(piece.error());
    if (piece->empty()) break;
    const base::Result<> kept = guard.feed(*piece, keep);
    if (!kept) co_return refuse(kept.error());
  }
  co_return buffer_of(body);
}

platform::Task<base::Result<base::Buffer>> BodyReader::read_encoded() {
  return chunked_ ? read_chunked() : read_plain(left_);
}

// `into`: where the decoded bytes go; null if only the limits matter.
platform::Task<base::Result<>> BodyReader::decode(base::ByteView encoded,
                                                  std::vector<std::byte>* into) {
  const runtime::Semaphore::Permit decoder = co_await decoders_.acquire(deadline_);
  if (!decoder) {
    co_return fail(Code::Timeout, "no decoder was free before the request's deadline");
  }
  DecodeGuard guard(coding_, {decoded_most(), limits_.decode_ratio_max});
  for (base::ByteView rest = encoded;;) {
    const base::Result<base::ByteView> piece = guard.next(rest);
    if (!piece) co_return refuse(decode_error(piece.error()));
    if (piece->empty()) break;
    decoded_ = guard.decoded_bytes();
    if (into != nullptr) into->insert(into->end(), piece->begin(), piece->end());
    co_await wire_.give_way();
  }
  co_return guard.finish();
}

platform::Task<base::Result<base::Buffer>> BodyReader::read_decoded() {
  const base::Result<base::Buffer> encoded = co_await read_encoded();
  if (!encoded) co_return fail(encoded.error());
  std::vector<std::byte> decoded;
  const base::Result<> done = co_await decode(encoded->view(), &decoded);
  if (!done) co_return fail(done.error());
  co_return buffer_of(decoded);
}

platform::Task<base::Result<base::Buffer>> BodyReader::read_checked() {
  return watched(read_checked_now());
}

BodyReader::Whole BodyReader::read_checked_now() {
  base::Result<base::Buffer> encoded = co_await read_encoded();
  if (!encoded || coding_ == Coding::Identity) co_return encoded;
  const base::Result<> checked = co_await decode(encoded->view(), nullptr);
  if (!checked) co_return fail(checked.error());
  co_return encoded;
}

}  // namespace ron::http
