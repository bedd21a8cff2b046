#include "http/response_writer.h"

#include <cassert>
#include <optional>
#include <string>
#include <utility>

#include "http/chunked.h"
#include "http/message.h"
#include "runtime/background.h"

namespace ron::http {

namespace {

constexpr std::size_t kByReferenceBytes =
    32 * base::kKiB;  // below it a copy is cheaper than a second call

constexpr std::string_view kCrlf = "\r\n";

using base::Code;
using Ended = PeerWatch::Ended;

// The head has not left yet, and somebody is there to hear why it will not.
bool can_be_told(base::ByteView head, const base::Error& error) noexcept {
  return !head.empty() && error.code != Code::Canceled;
}

// Counts an event stream for as long as it is open.
class OpenStream {
 public:
  explicit OpenStream(runtime::Gauge& gauge) noexcept : gauge_(gauge) { gauge_.add(1); }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;
  ~OpenStream() { gauge_.add(-1); }

 private:
  runtime::Gauge& gauge_;
};

// What a stream waits for.
using NextEvent = std::optional<runtime::Background<std::optional<ServerEvent>>>;

struct ReadyEvents {
  std::string text;
  bool is_over = false;
  std::size_t too_large = 0;  // the bytes of the event that ended it
};

// What the source has by now, from `next` on, which is done. A write for each would cost more than
// the events: those who commit many at once have many listeners.
ReadyEvents take_ready(EventSource& source, NextEvent& next) {
  ReadyEvents ready;
  while (next->done()) {
    const std::optional<ServerEvent> event = next->take();
    next.reset();
    const std::string text = event ? render(*event) : std::string();
    if (text.size() > kEventBytes) ready.too_large = text.size();
    ready.is_over = !event || ready.too_large != 0;
    if (ready.is_over) break;
    ready.text += text;
    if (ready.text.size() >= kEventsAtOnceBytes) break;
    next.emplace(source.next());
  }
  return ready;
}

}  // namespace

ResponseWriter::Framing ResponseWriter::framing_of(const RequestWork& work,
                                                   const Response& response) noexcept {
  if (response.is_bodiless()) return Framing::None;
  if (response.content_length()) return Framing::Length;
  return work.head.minor > 0 ? Framing::Chunked : Framing::Close;
}

std::string_view ResponseWriter::render_head(RequestWork& work, const Response& response,
                                             Framing framing, bool framed) {
  HeadBuffer out(work.head_out);
  append_head(out, work, response, framing, framed);
  if (out.ok()) return out.view();
  // The lines of an upstream may be many.
  work.large_head.resize(work.head_out.size() + response.lines.size() +
                         response.prepared_lines.size());
  HeadBuffer large(work.large_head);
  append_head(large, work, response, framing, framed);
  assert(large.ok());
  return large.view();
}

void ResponseWriter::append_head(HeadBuffer& out, const RequestWork& work, const Response& response,
                                 Framing framing, bool framed) {
  out.append("HTTP/1.1 ");
  out.append(static_cast<std::uint64_t>(response.status));
  out.append(" ");
  out.append(reason(response.status));
  out.append(kCrlf);
  out.append(loop_.first_lines());
  out.append("X-Corr-ID: ");
  out.append(work.request.corr_id.text());
  if (framing == Framing::Length) {
    out.append("\r\nContent-Length: ");
    out.append(*response.content_length());
  } else if (framing == Framing::Chunked) {
    out.append("\r\nTransfer-Encoding: chunked");
  }
  if (!work.keep_alive) {
    out.append("\r\nConnection: close");
  } else if (work.head.minor == 0) {
    out.append("\r\nConnection: keep-alive");
  }
  out.append(kCrlf);
  out.append(response.lines);
  if (!framed) {
    out.append(response.prepared_lines);
    out.append(kCrlf);
  }
}

platform::Task<WireEnd> ResponseWriter::send(RequestWork* work, Response* response) {
  const Framing framing = framing_of(*work, *response);
  const bool head_only = work->head.method == Method::Head || framing == Framing::None;
  // Only the end of the connection ends such a body, and an event stream ends for a reason.
  if (framing == Framing::Close || std::holds_alternative<EventBody>(response->body)) {
    work->keep_alive = false;
  }
  const auto* shared = std::get_if<SharedBody>(&response->body);
  const bool framed = shared != nullptr && !head_only && shared->framed.size() >= kByReferenceBytes;
  const base::ByteView head = base::as_bytes(render_head(*work, *response, framing, framed));
  if (head_only) co_return co_await send_memory(work, head, {}, nullptr);
  auto* const sized = std::get_if<SizedBody>(&response->body);
  auto* const streamed = std::get_if<StreamedBody>(&response->body);
  if (sized != nullptr || streamed != nullptr) {
    EarlyFailure early;
    const WireEnd end = co_await (
        sized != nullptr ? send_sized(work, head, sized, &early)
                         : send_streamed(work, head, streamed->source.get(), framing, &early));
    if (!early) co_return end;
    *response = Response::error(*early, work->request.corr_id);
    co_return co_await send(work, response);
  }
  if (auto* events = std::get_if<EventBody>(&response->body)) {
    co_return co_await send_events(work, head, events->source.get(), framing);
  }
  const base::ByteView bytes = response->bytes();
  const platform::SendMemory* const memory = shared != nullptr ? shared->memory : nullptr;
  const WireEnd end = co_await send_memory(work, head, framed ? shared->framed : bytes, memory);
  if (end == WireEnd::None) loop_.sent_bytes.add(bytes.size());
  co_return end;
}

// Small bodies are copied into the packet that carries the head; large ones go by reference. What
// the socket does not take at once waits for its reader, who may be slow: from then on the request
// is not in flight any more.
platform::Task<WireEnd> ResponseWriter::send_memory(RequestWork* work, base::ByteView head,
                                                    base::ByteView bytes,
                                                    const platform::SendMemory* memory) {
  if (memory == nullptr || bytes.size() < kByReferenceBytes) return write(work, {head, bytes});
  return send_by_reference(work, head, bytes, memory);
}

platform::Task<WireEnd> ResponseWriter::send_by_reference(RequestWork* work, base::ByteView head,
                                                          base::ByteView bytes,
                                                          const platform::SendMemory* memory) {
  WireEnd end = WireEnd::None;
  const bool done = wire_.try_send(head, *memory, bytes, end);
  if (done || end != WireEnd::None) co_return end;
  work->permit = {};
  co_return co_await wire_.send(head, memory, bytes, work->settings->write_timeout);
}

platform::Task<WireEnd> ResponseWriter::write(RequestWork* work, Wire::Spans spans) {
  WireEnd end = WireEnd::None;
  const bool done = wire_.try_write(spans, end);
  if (done || end != WireEnd::None) co_return end;
  work->permit = {};
  co_return co_await wire_.write(spans, work->settings->write_timeout);
}

platform::Task<base::Result<base::ByteView>> ResponseWriter::next_piece(RequestWork* work,
                                                                        BodySource* source,
                                                                        base::ByteView* head) {
  runtime::Background<base::Result<base::ByteView>> pending(source->next());
  if (!pending.done()) {
    if (head != nullptr && !head->empty()) {
      const WireEnd end = co_await write(work, {std::exchange(*head, {})});
      if (end != WireEnd::None) co_return base::fail(Code::Canceled, "the client does not read");
    }
    const Ended ended = co_await peer_.wait(&pending, nullptr, runtime::Deadline());
    if (ended == Ended::PeerLeft) {
      loop_.clients_gone.add();
      co_return base::fail(Code::Canceled, "the client left");
    }
  }
  co_return pending.take();
}

platform::Task<WireEnd> ResponseWriter::send_sized(RequestWork* work, base::ByteView head,
                                                   SizedBody* body, EarlyFailure* early) {
  std::uint64_t left = body->length;
  while (left > 0 || !head.empty()) {
    base::Result<base::ByteView> piece = base::ByteView();
    if (left > 0) piece = co_await next_piece(work, body->source.get(), nullptr);
    if (!piece && can_be_told(head, piece.error())) {
      *early = std::make_unique<base::Error>(std::move(piece.error()));
    }
    if (!piece || piece->size() > left || (left > 0 && piece->empty())) co_return WireEnd::Closed;
    left -= piece->size();
    const WireEnd end = co_await write(work, {head, *piece});
    if (end != WireEnd::None) co_return end;
    if (wire_.turn_is_over()) co_await wire_.give_way();
    head = {};
  }
  loop_.sent_bytes.add(body->length);
  co_return WireEnd::None;
}

platform::Task<WireEnd> ResponseWriter::send_piece(RequestWork* work, base::ByteView front,
                                                   base::ByteView piece, Framing framing) {
  if (framing == Framing::Close) co_return co_await write(work, {front, piece});
  const ChunkSize size(piece.size());
  co_return co_await write(work, {front, size.line(), piece, base::as_bytes(kCrlf)});
}

platform::Task<WireEnd> ResponseWriter::send_streamed(RequestWork* work, base::ByteView head,
                                                      BodySource* source, Framing framing,
                                                      EarlyFailure* early) {
  std::uint64_t sent = 0;
  for (;;) {
    base::Result<base::ByteView> piece = co_await next_piece(work, source, &head);
    if (!piece && can_be_told(head, piece.error())) {
      *early = std::make_unique<base::Error>(std::move(piece.error()));
    }
    if (!piece) co_return WireEnd::Closed;
    const WireEnd end = co_await send_piece(work, head, *piece, framing);
    if (end != WireEnd::None) co_return end;
    if (piece->empty()) break;
    if (wire_.turn_is_over()) co_await wire_.give_way();
    sent += piece->size();
    head = {};
  }
  loop_.sent_bytes.add(sent);
  co_return WireEnd::None;
}

platform::Task<WireEnd> ResponseWriter::send_events(RequestWork* work, base::ByteView head,
                                                    EventSource* source, Framing framing) {
  const OpenStream open(loop_.event_streams);
  work->permit = {};
  wire_.stream().keep_little_unsent();
  WireEnd end = co_await write(work, {head});
  NextEvent next;
  while (end == WireEnd::None && !peer_.retiring()) {
    if (!next) next.emplace(source->next());
    if (!next->done()) {
      const runtime::First first = co_await runtime::wait_either(next->finished(), peer_.leaving(),
                                                                 runtime::Deadline::in(kHeartbeat));
      if (first == runtime::First::Other) {
        if (peer_.left()) co_return WireEnd::Closed;
        break;
      }
      if (first == runtime::First::TimedOut) {
        end = co_await send_piece(work, {}, base::as_bytes(kHeartbeatComment), framing);
        continue;
      }
    }
    const ReadyEvents ready = take_ready(*source, next);
    if (!ready.text.empty()) {
      end = co_await send_piece(work, {}, base::as_bytes(ready.text), framing);
    }
    if (ready.too_large != 0) {
      loop_.log.with(work->request.corr_id)
          .error("event stream ended: an event is too large", {{"bytes", ready.too_large}});
    }
    if (ready.is_over) break;
    if (wire_.turn_is_over()) co_await wire_.give_way();
  }
  if (end != WireEnd::None || framing == Framing::Close) co_return end;
  co_return co_await send_piece(work, {}, {}, framing);
}

}  // namespace ron::http
