// Exchange: one request and the head of its answer, on one connection.
//
// The answer is listened for while the request is still being sent, and while its source has
// nothing to send: an upstream that answers early is heard, and the rest of the body is not forced
// on it. One task; lives in Client::send.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client_link.h"
#include "http/client_metrics.h"
#include "http/client_request.h"
#include "http/client_settings.h"
#include "http/response_head.h"
#include "platform/task.h"
#include "runtime/background.h"
#include "runtime/deadline.h"

namespace ron::http {

// Bytes that wait to be written: first a head, then the spans behind it. Views of the caller's.
class Outgoing {
 public:
  Outgoing(base::ByteView head, std::span<const base::ByteView> spans) noexcept
      : front_(head), behind_(spans) {
    skip_empty();
  }

  [[nodiscard]] bool empty() const noexcept { return front_.empty(); }
  // As much as one gathered write takes.
  using Gathered = std::array<base::ByteView, platform::kGatherSpans>;
  [[nodiscard]] std::span<const base::ByteView> gather(Gathered& into) const noexcept;
  void advance(std::size_t bytes) noexcept;

 private:
  void skip_empty() noexcept;

  base::ByteView front_;
  std::span<const base::ByteView> behind_;
};

class Exchange {
 public:
  static constexpr std::uint32_t kInterimAnswers = 16;  // an upstream that only stalls is cut off

  // Fills `answer` with views into the link's buffer.
  Exchange(const ClientRequest& request, runtime::Deadline deadline, const ClientSettings& settings,
           ClientMeters& meters, ParsedResponse& answer) noexcept;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Sends the request, whose head was rendered, and reads the answer's head, which begins the
  // link's pending bytes. UpstreamFail, Timeout, Canceled, or what the body's source failed with.
  // Cancel-safe: the link must be dropped then, as after every error.
  platform::Task<base::Result<>> run(ClientLink* link, std::string_view head);

  [[nodiscard]] std::size_t head_bytes() const noexcept { return head_bytes_; }
  // The whole request went out, so that the connection can carry another.
  [[nodiscard]] bool sent_whole() const noexcept { return sent_whole_; }
  // After an error: the upstream ended the connection.
  [[nodiscard]] bool closed() const noexcept { return ended_; }
  // After an error: it did so before a byte of the answer, and run() can send the request again as
  // it was. Of a source that is so as long as its first piece is still there.
  [[nodiscard]] bool repeatable() const noexcept {
    return ended_ && !heard_ && asked_ <= 1 && request_.idempotent();
  }

 private:
  using Piece = base::Result<base::ByteView>;

  platform::Task<base::Result<>> send_request(base::ByteView head);
  platform::Task<base::Result<>> send_spans(Outgoing out);
  platform::Task<base::Result<>> send_source(base::ByteView head);
  void ask_for_piece();
  platform::Task<base::Result<>> await_piece();
  [[nodiscard]] Piece take_piece(std::uint64_t left);
  platform::Task<base::Result<>> write(Outgoing out);
  bool try_write(Outgoing& out) noexcept;
  platform::Task<base::Result<>> await_consent();
  void begin(ClientLink* link) noexcept;
  // The final head is there, or the upstream takes no more bytes: there is nothing to send any
  // more.
  [[nodiscard]] bool stopped() const noexcept { return answered_ || write_closed_; }
  base::Result<> listen();
  base::Result<> take_heads();
  platform::TimePoint until(base::Duration timeout) const;
  [[nodiscard]] std::string peer() const { return link_->stream().peer().text(); }
  base::Error timed_out(runtime::Counter& operation, std::string_view what);
  base::Error ended(LinkEnd end);
  base::Error malformed(std::string_view what);

  const ClientRequest& request_;
  const runtime::Deadline deadline_;
  const ClientSettings& settings_;
  ClientMeters& meters_;
  ParsedResponse& answer_;
  SendProgress unwatched_;  // where the request's progress is told if nobody wants it
  SendProgress& progress_;
  ResponseHeadParser parser_;
  ClientLink* link_ = nullptr;
  std::size_t head_bytes_ = 0;
  std::uint32_t interim_ = 0;
  bool consent_ = false;       // 100 Continue
  bool answered_ = false;      // the final head is there
  bool heard_ = false;         // a byte of an answer arrived
  bool ended_ = false;         // closed or reset by the upstream
  bool write_closed_ = false;  // the upstream takes no more bytes
  bool sent_whole_ = false;
  std::size_t written_ = 0;  // since the write timeout began

  // The source's pieces are asked for in the background. What was asked for when a connection
  // turned out to be stale is sent on the next one.
  std::uint32_t asked_ = 0;              // pieces
  std::optional<base::ByteView> piece_;  // the one in hand, valid until the next is asked for
  std::optional<runtime::Background<Piece>> asking_;
};

}  // namespace ron::http
