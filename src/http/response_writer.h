// ResponseWriter: puts answers on the wire, whatever kind of body they have.
//
// Part of a connection and used by its task alone. Bounds: one piece of a source or one event at a
// time; the next one is asked for when the client has taken the last.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/result.h"
#include "http/loop_context.h"
#include "http/message.h"
#include "http/peer_watch.h"
#include "http/response.h"
#include "http/wire.h"
#include "platform/task.h"

namespace ron::http {

class ResponseWriter {
 public:
  ResponseWriter(LoopContext& loop, Wire& wire, PeerWatch& peer) noexcept
      : loop_(loop), wire_(wire), peer_(peer) {}

  // None: the client has all of it. Anything else: the connection must be cut, so that nobody takes
  // a part for the whole. If the body's source fails before anything was sent, `response` becomes
  // its error, and that is sent. The request counts as in flight until its answer waits for its
  // reader. Cancel-safe.
  platform::Task<WireEnd> send(RequestWork* work, Response* response);

 private:
  // How the body's end is told.
  enum class Framing : std::uint8_t { None, Length, Chunked, Close };
  static Framing framing_of(const RequestWork& work, const Response& response) noexcept;
  // The head; with `framed`, only what comes before the prepared lines.
  std::string_view render_head(RequestWork& work, const Response& response, Framing framing,
                               bool framed);
  void append_head(HeadBuffer& out, const RequestWork& work, const Response& response,
                   Framing framing, bool framed);

  platform::Task<WireEnd> send_memory(RequestWork* work, base::ByteView head, base::ByteView bytes,
                                      const platform::SendMemory* memory);
  platform::Task<WireEnd> send_by_reference(RequestWork* work, base::ByteView head,
                                            base::ByteView bytes,
                                            const platform::SendMemory* memory);
  // What the source said; Canceled when the client left meanwhile. With `head`, that is sent before
  // it waits.
  platform::Task<base::Result<base::ByteView>> next_piece(RequestWork* work, BodySource* source,
                                                          base::ByteView* head);
  // Why a source failed while the client had seen nothing of the answer.
  using EarlyFailure = std::unique_ptr<base::Error>;
  platform::Task<WireEnd> send_sized(RequestWork* work, base::ByteView head, SizedBody* body,
                                     EarlyFailure* early);
  platform::Task<WireEnd> send_streamed(RequestWork* work, base::ByteView head, BodySource* source,
                                        Framing framing, EarlyFailure* early);
  platform::Task<WireEnd> send_events(RequestWork* work, base::ByteView head, EventSource* source,
                                      Framing framing);
  // Gathered, tried first; whoever has to wait for its reader is not in flight any more.
  platform::Task<WireEnd> write(RequestWork* work, Wire::Spans spans);
  // A piece in its frame behind `front`; an empty one is the end.
  platform::Task<WireEnd> send_piece(RequestWork* work, base::ByteView front, base::ByteView piece,
                                     Framing framing);

  LoopContext& loop_;
  Wire& wire_;
  PeerWatch& peer_;
};

}  // namespace ron::http
