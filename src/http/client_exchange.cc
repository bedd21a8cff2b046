#include "http/client_exchange.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>

#include "http/chunked.h"
#include "platform/executor.h"

namespace ron::http {

using base::Code;
using base::fail;
using platform::IoResult;

namespace {

platform::TimePoint now() noexcept { return platform::Executor::current()->now(); }

constexpr std::size_t kProgressBytes = 4 * base::kKiB;  // less per write_timeout is no progress
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace

void Outgoing::skip_empty() noexcept {
  while (front_.empty() && !behind_.empty()) {
    front_ = behind_.front();
    behind_ = behind_.subspan(1);
  }
}

std::span<const base::ByteView> Outgoing::gather(Gathered& into) const noexcept {
  std::size_t count = 0;
  into[count++] = front_;
  for (const base::ByteView span : behind_) {
    if (count == into.size()) break;
    if (!span.empty()) into[count++] = span;
  }
  return std::span(into).first(count);
}

void Outgoing::advance(std::size_t bytes) noexcept {
  while (bytes > 0) {
    const std::size_t taken = std::min(bytes, front_.size());
    front_ = front_.subspan(taken);
    bytes -= taken;
    skip_empty();
  }
}

Exchange::Exchange(const ClientRequest& request, runtime::Deadline deadline,
                   const ClientSettings& settings, ClientMeters& meters,
                   ParsedResponse& answer) noexcept
    : request_(request),
      deadline_(deadline),
      settings_(settings),
      meters_(meters),
      answer_(answer),
      progress_(request.progress != nullptr ? *request.progress : unwatched_) {}

platform::TimePoint Exchange::until(base::Duration timeout) const {
  return deadline_.sooner(runtime::Deadline::in(timeout)).at();
}

base::Error Exchange::timed_out(runtime::Counter& operation, std::string_view what) {
  operation.add();
  meters_.timeouts.add();
  return {Code::Timeout, peer() + " " + std::string(what)};
}

base::Error Exchange::malformed(std::string_view what) {
  meters_.malformed.add();
  return {Code::UpstreamFail, peer() + ": " + std::string(what)};
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
  return {Code::UpstreamFail, peer() + " did not answer: " + why};
}

void Exchange::begin(ClientLink* link) noexcept {
  link_ = link;
  parser_.reset();
  head_bytes_ = 0;
  interim_ = 0;
  consent_ = answered_ = heard_ = ended_ = write_closed_ = sent_whole_ = false;
  progress_.waits_since =
      request_.source != nullptr ? platform::kNever : std::min(progress_.waits_since, now());
}

platform::Task<base::Result<>> Exchange::run(ClientLink* link, std::string_view head) {
  begin(link);
  const bool plain = request_.source == nullptr && !request_.expect_continue;
  Outgoing out(base::as_bytes(head), request_.body);
  if (plain && try_write(out)) {
    sent_whole_ = !write_closed_;
  } else {
    const base::Result<> sent =
        co_await (plain ? send_spans(out) : send_request(base::as_bytes(head)));
    if (!sent) co_return sent;
  }
  if (request_.source != nullptr) progress_.waits_since = now();
  const platform::TimePoint patience = until(settings_.read_timeout);
  while (!answered_) {
    const LinkEnd end = co_await link_->fill(patience);
    if (end != LinkEnd::None) co_return fail(ended(end));
    const base::Result<> taken = take_heads();
    if (!taken) co_return taken;
  }
  co_return base::Result<>();
}

// The ways that take more than one write: with consent first, or from a source.
platform::Task<base::Result<>> Exchange::send_request(base::ByteView head) {
  if (request_.expect_continue) {
    const base::Result<> asked = co_await write(Outgoing(head, {}));
    if (!asked) co_return asked;
    const base::Result<> consent = co_await await_consent();
    if (!consent) co_return consent;
    head = {};
  }
  if (request_.source != nullptr) co_return co_await send_source(head);
  co_return co_await send_spans(Outgoing(head, request_.body));
}

platform::Task<base::Result<>> Exchange::send_spans(Outgoing out) {
  const base::Result<> sent = co_await write(out);
  if (!sent) co_return sent;
  sent_whole_ = !stopped();
  co_return base::Result<>();
}

// Waits for 100 Continue or a final answer, but not for long: an old upstream says nothing.
platform::Task<base::Result<>> Exchange::await_consent() {
  const platform::TimePoint patience = until(settings_.continue_timeout);
  while (!consent_ && !stopped()) {
    const LinkEnd end = co_await link_->fill(patience);
    if (end == LinkEnd::TimedOut && !deadline_.passed()) break;
    if (end != LinkEnd::None) co_return fail(ended(end));
    const base::Result<> taken = take_heads();
    if (!taken) co_return taken;
  }
  co_return base::Result<>();
}

platform::Task<base::Result<>> Exchange::send_source(base::ByteView head) {
  const bool chunked = !request_.source_bytes;
  std::uint64_t left = request_.source_bytes.value_or(0);
  bool more = chunked || left > 0;
  for (bool again = asking_ || piece_; more && !stopped(); again = false) {
    if (!again) ask_for_piece();
    if (asking_ && !asking_->done()) {
      // The head does not wait for the body; a piece that is there at once leaves with it.
      const base::Result<> begun = co_await write(Outgoing(std::exchange(head, {}), {}));
      if (!begun) co_return begun;
      const base::Result<> came = co_await await_piece();
      if (!came) co_return came;
      if (stopped()) break;
    }
    const Piece piece = take_piece(left);
    if (!piece) {
      progress_.body_failed = true;
      co_return fail(piece.error());
    }
    const ChunkSize size(piece->size());
    std::array spans = {size.line(), *piece, base::as_bytes(kLineEnd)};
    if (!chunked) spans = {*piece};
    if (chunked && piece->empty()) spans = {base::as_bytes(kLastChunk)};
    if (!chunked) left -= piece->size();
    more = chunked ? !piece->empty() : left > 0;
    const base::Result<> sent = co_await write(Outgoing(std::exchange(head, {}), spans));
    if (!sent) co_return sent;
  }
  if (!head.empty() && !stopped()) {  // a body of length 0 has no piece to leave with
    const base::Result<> sent = co_await write(Outgoing(head, {}));
    if (!sent) co_return sent;
  }
  sent_whole_ = !more && !stopped();
  co_return base::Result<>();
}

void Exchange::ask_for_piece() {
  ++asked_;
  progress_.body_used = true;
  piece_.reset();
  asking_.emplace(request_.source->next());
}

// Until the piece that was asked for is there, or there is nothing to send any more.
platform::Task<base::Result<>> Exchange::await_piece() {
  while (!asking_->done() && !stopped()) {
    const runtime::First first = co_await runtime::wait_either(
        asking_->finished(), runtime::EventOp(link_->stream().readable()), deadline_);
    if (first == runtime::First::TimedOut) {
      progress_.body_failed = true;
      co_return fail(timed_out(meters_.write_timeouts, "was not sent the whole request in time"));
    }
    const base::Result<> heard = listen();
    if (!heard) co_return heard;
  }
  co_return base::Result<>();
}

// The piece that was asked for, or the one in hand once more, checked against the announced length.
Exchange::Piece Exchange::take_piece(std::uint64_t left) {
  if (asking_) {
    const Piece came = asking_->take();
    asking_.reset();
    if (!came) return came;
    piece_ = *came;
  }
  if (request_.source_bytes && piece_->size() > left) {
    return fail(Code::Internal, "the request body is longer than announced");
  }
  if (request_.source_bytes && piece_->empty() && left > 0) {
    return fail(Code::Internal, "the request body is shorter than announced");
  }
  return *piece_;
}

// Writes everything, unless the final answer comes first or the upstream stops taking bytes: what
// it may have said before is then worth reading.
platform::Task<base::Result<>> Exchange::write(Outgoing out) {
  if (out.empty()) co_return base::Result<>();
  Wire& wire = link_->wire();
  platform::Stream& stream = link_->stream();
  written_ = 0;
  wire.watch(until(settings_.write_timeout));
  for (;;) {
    const base::Result<> heard = listen();
    if (!heard) co_return heard;
    if (stopped()) break;
    if (wire.timed_out() || deadline_.passed()) {
      co_return fail(timed_out(meters_.write_timeouts, "did not take the request in time"));
    }
    if (try_write(out)) break;
    if (written_ >= kProgressBytes) {
      written_ = 0;
      wire.watch(until(settings_.write_timeout));
    }
    if (wire.turn_is_over()) {
      co_await wire.give_way();
    } else {
      co_await EitherEvent(stream.readable(), stream.writable());
    }
  }
  wire.unwatch();
  co_return base::Result<>();
}

// The part of write() that needs no waiting: true when there is nothing left to write, or nobody
// who takes it.
bool Exchange::try_write(Outgoing& out) noexcept {
  Wire& wire = link_->wire();
  while (!out.empty() && !wire.turn_is_over()) {
    if (!link_->stream().writable().is_set()) return false;
    Outgoing::Gathered spans;
    progress_.sent = true;
    const IoResult result = link_->stream().try_write(out.gather(spans));
    if (result.would_block()) return false;
    if (!result.ok()) {
      write_closed_ = true;
      return true;
    }
    out.advance(result.bytes);
    written_ += result.bytes;
    wire.spend(result.bytes);
  }
  return out.empty();
}

// Takes in what the upstream says while we are still sending.
base::Result<> Exchange::listen() {
  if (!link_->stream().readable().is_set()) return {};
  const LinkEnd end = link_->poll();
  if (end == LinkEnd::Canceled) return fail(ended(end));
  if (end != LinkEnd::None) write_closed_ = true;
  return take_heads();
}

// Parses what is pending: interim answers are dropped, the final one stays.
base::Result<> Exchange::take_heads() {
  Wire& wire = link_->wire();
  while (!answered_ && !wire.pending().empty()) {
    heard_ = progress_.answered = true;
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

}  // namespace ron::http
