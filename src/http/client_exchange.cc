#include "http/client_exchange.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "platform/executor.h"

namespace ron::http {

using base::Code;
using base::fail;
using platform::IoResult;

namespace {

constexpr std::size_t kProgressBytes = 4 * base::kKiB;  // less per write_timeout is no progress
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";

// `1f40\r\n`
class ChunkSize {
 public:
  explicit ChunkSize(std::size_t bytes) noexcept {
    char* end = std::to_chars(text_.data(), text_.data() + text_.size() - 2, bytes, 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    length_ = static_cast<std::size_t>(end - text_.data());
  }
  [[nodiscard]] base::ByteView view() const noexcept {
    return base::as_bytes({text_.data(), length_});
  }

 private:
  std::array<char, 18> text_{};
  std::size_t length_ = 0;
};

// Takes `bytes` off the front of the pieces.
void advance(std::vector<base::ByteView>& pieces, std::size_t& first, std::size_t bytes) {
  while (first < pieces.size() && bytes >= pieces[first].size()) bytes -= pieces[first++].size();
  if (bytes > 0) pieces[first] = pieces[first].subspan(bytes);
}

}  // namespace

Exchange::Exchange(const ClientRequest& request, std::string_view head, runtime::Deadline deadline,
                   const ClientSettings& settings, ClientMeters& meters, ParsedResponse& answer)
    : request_(request),
      head_(head),
      deadline_(deadline),
      settings_(settings),
      meters_(meters),
      answer_(answer) {}

platform::TimePoint Exchange::until(base::Duration timeout) const {
  return deadline_.sooner(runtime::Deadline::in(timeout)).at();
}

base::Error Exchange::timed_out(runtime::Counter& operation, std::string_view what) {
  operation.add();
  meters_.timeouts.add();
  return {Code::Timeout, request_.endpoint.text() + " " + std::string(what)};
}

base::Error Exchange::malformed(std::string_view what) {
  meters_.malformed.add();
  return {Code::UpstreamFail, request_.endpoint.text() + ": " + std::string(what)};
}

base::Error Exchange::ended(LinkEnd end) {
  if (end == LinkEnd::TimedOut) return timed_out(meters_.read_timeouts, "did not answer in time");
  if (end == LinkEnd::Canceled) {
    meters_.canceled.add();
    return {Code::Canceled, "the client is shutting down"};
  }
  ended_ = true;
  const std::string why = end == LinkEnd::Failed ? std::generic_category().message(link_->error())
                                                 : std::string("it closed the connection");
  return {Code::UpstreamFail, request_.endpoint.text() + " did not answer: " + why};
}

void Exchange::begin(ClientLink* link) noexcept {
  link_ = link;
  parser_.reset();
  head_bytes_ = 0;
  interim_ = 0;
  consent_ = answered_ = heard_ = ended_ = deaf_ = sent_whole_ = source_used_ = false;
}

platform::Task<base::Result<>> Exchange::run(ClientLink* link) {
  begin(link);
  const base::Result<> sent = co_await send_request();
  if (!sent) co_return fail(sent.error());
  co_return co_await read_head();
}

platform::Task<base::Result<>> Exchange::send_request() {
  std::vector<base::ByteView> pieces = {base::as_bytes(head_)};
  if (request_.expect_continue) {
    const base::Result<> asked = co_await write(std::move(pieces));
    if (!asked) co_return asked;
    const base::Result<> consent = co_await await_consent();
    if (!consent) co_return consent;
    pieces.clear();
  }
  if (request_.source != nullptr) {
    if (!pieces.empty()) {
      const base::Result<> begun = co_await write(std::move(pieces));
      if (!begun) co_return begun;
    }
    co_return co_await send_source();
  }
  pieces.insert(pieces.end(), request_.body.begin(), request_.body.end());
  const base::Result<> sent = co_await write(std::move(pieces));
  if (!sent) co_return sent;
  sent_whole_ = !answered_ && !deaf_;
  co_return base::Result<>();
}

// Waits for 100 Continue or a final answer, but not for long: an old upstream says nothing.
platform::Task<base::Result<>> Exchange::await_consent() {
  const platform::TimePoint patience = until(settings_.continue_timeout);
  while (!consent_ && !answered_ && !deaf_) {
    const LinkEnd end = co_await link_->fill(patience);
    if (end == LinkEnd::TimedOut && !deadline_.passed()) break;
    if (end != LinkEnd::None) co_return fail(ended(end));
    heard_ = true;
    const base::Result<> taken = take_heads();
    if (!taken) co_return taken;
  }
  co_return base::Result<>();
}

// One piece of the source, checked against the length that was announced.
platform::Task<base::Result<base::ByteView>> Exchange::next_piece(std::uint64_t left) {
  source_used_ = true;
  base::Result<base::ByteView> piece = co_await request_.source->next();
  if (!piece) co_return piece;
  if (request_.source_bytes && piece->size() > left) {
    co_return fail(Code::Internal, "the request body is longer than announced");
  }
  if (request_.source_bytes && piece->empty() && left > 0) {
    co_return fail(Code::Internal, "the request body is shorter than announced");
  }
  co_return piece;
}

platform::Task<base::Result<>> Exchange::send_source() {
  const bool chunked = !request_.source_bytes;
  std::uint64_t left = request_.source_bytes.value_or(0);
  bool more = chunked || left > 0;
  while (more && !answered_ && !deaf_) {
    const base::Result<base::ByteView> piece = co_await next_piece(left);
    if (!piece) co_return fail(piece.error());
    const ChunkSize size(piece->size());
    std::vector<base::ByteView> pieces = {*piece};
    if (chunked && piece->empty()) {
      pieces = {base::as_bytes(kLastChunk)};
    } else if (chunked) {
      pieces = {size.view(), *piece, base::as_bytes(kLineEnd)};
    } else {
      left -= piece->size();
    }
    more = chunked ? !piece->empty() : left > 0;
    const base::Result<> sent = co_await write(std::move(pieces));
    if (!sent) co_return sent;
  }
  sent_whole_ = !more && !answered_ && !deaf_;
  co_return base::Result<>();
}

// Writes everything, unless the final answer comes first (answered_) or the upstream stops taking
// bytes (deaf_): what it may have said before is then worth reading.
platform::Task<base::Result<>> Exchange::write(std::vector<base::ByteView> pieces) {
  Wire& wire = link_->wire();
  platform::Stream& stream = link_->stream();
  std::size_t first = 0;
  std::size_t progress = 0;
  wire.watch(until(settings_.write_timeout));
  advance(pieces, first, 0);
  while (first < pieces.size() && !answered_ && !deaf_) {
    const base::Result<> heard = listen();
    if (!heard) co_return heard;
    if (answered_ || deaf_) break;
    if (wire.timed_out() || deadline_.passed()) {
      co_return fail(timed_out(meters_.write_timeouts, "did not take the request in time"));
    }
    if (!stream.writable().is_set()) {
      co_await EitherEvent(stream.readable(), stream.writable());
      continue;
    }
    const IoResult result = stream.try_write(std::span(pieces).subspan(first));
    if (result.ok()) {
      advance(pieces, first, result.bytes);
      progress += result.bytes;
    } else if (!result.would_block()) {
      deaf_ = true;
    }
    if (progress >= kProgressBytes) {
      progress = 0;
      wire.watch(until(settings_.write_timeout));
    }
  }
  wire.unwatch();
  co_return base::Result<>();
}

// Takes in what the upstream says while we are still sending.
base::Result<> Exchange::listen() {
  if (!link_->stream().readable().is_set()) return {};
  const std::size_t before = link_->wire().pending().size();
  const LinkEnd end = link_->poll();
  if (end == LinkEnd::Canceled) return fail(ended(end));
  if (end != LinkEnd::None) deaf_ = true;
  if (link_->wire().pending().size() == before) return {};
  heard_ = true;
  return take_heads();
}

// Parses what is pending: interim answers are dropped, the final one stays.
base::Result<> Exchange::take_heads() {
  Wire& wire = link_->wire();
  while (!answered_ && !wire.pending().empty()) {
    const HeadOutcome outcome = parser_.parse(wire.pending(), request_.method, answer_);
    if (outcome.progress == Progress::NeedMore) break;
    if (outcome.progress == Progress::Bad) return fail(malformed(outcome.refusal.message));
    if (!answer_.interim()) {
      answered_ = true;
      head_bytes_ = outcome.consumed;
      break;
    }
    if (answer_.status == 101) return fail(malformed("it switches protocols without being asked"));
    if (++interim_ > kInterimAnswers) return fail(malformed("it sends too many interim answers"));
    consent_ = consent_ || answer_.status == 100;
    wire.consume(outcome.consumed);
  }
  return {};
}

platform::Task<base::Result<>> Exchange::read_head() {
  const platform::TimePoint patience = until(settings_.read_timeout);
  while (!answered_) {
    const LinkEnd end = co_await link_->fill(patience);
    if (end != LinkEnd::None) co_return fail(ended(end));
    heard_ = true;
    const base::Result<> taken = take_heads();
    if (!taken) co_return taken;
  }
  co_return base::Result<>();
}

}  // namespace ron::http
