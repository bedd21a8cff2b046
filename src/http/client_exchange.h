// Exchange: one request and the head of its answer, on one connection.
//
// The answer is listened for while the request is still being sent: an upstream that refuses early
// is heard, and the rest of the body is not forced on it. One task; lives in Client::send.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client_link.h"
#include "http/client_metrics.h"
#include "http/client_request.h"
#include "http/client_settings.h"
#include "http/response_head.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::http {

class Exchange {
 public:
  static constexpr std::uint32_t kInterimAnswers = 16;  // an upstream that only stalls is cut off

  // Fills `answer` with views into the link's buffer.
  Exchange(const ClientRequest& request, std::string_view head, runtime::Deadline deadline,
           const ClientSettings& settings, ClientMeters& meters, ParsedResponse& answer);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Sends the request and reads the answer's head, which begins the link's pending bytes.
  // UpstreamFail, Timeout, Canceled, or what the body's source failed with. Cancel-safe: the link
  // must be dropped then, as after every error.
  platform::Task<base::Result<>> run(ClientLink* link);

  [[nodiscard]] std::size_t head_bytes() const noexcept { return head_bytes_; }
  // The whole request went out, so that the connection can carry another.
  [[nodiscard]] bool sent_whole() const noexcept { return sent_whole_; }
  // After an error: the upstream ended the connection.
  [[nodiscard]] bool closed() const noexcept { return ended_; }
  // After an error: it did so before a byte of the answer, and the request can be sent
  // again as it was.
  [[nodiscard]] bool repeatable() const noexcept {
    return ended_ && !heard_ && !source_used_ && request_.idempotent();
  }

 private:
  platform::Task<base::Result<>> send_request();
  platform::Task<base::Result<>> send_source();
  platform::Task<base::Result<base::ByteView>> next_piece(std::uint64_t left);
  platform::Task<base::Result<>> write(std::vector<base::ByteView> pieces);
  platform::Task<base::Result<>> await_consent();
  platform::Task<base::Result<>> read_head();
  void begin(ClientLink* link) noexcept;
  base::Result<> listen();
  base::Result<> take_heads();
  platform::TimePoint until(base::Duration timeout) const;
  base::Error timed_out(runtime::Counter& operation, std::string_view what);
  base::Error ended(LinkEnd end);
  base::Error malformed(std::string_view what);

  const ClientRequest& request_;
  const std::string_view head_;
  const runtime::Deadline deadline_;
  const ClientSettings& settings_;
  ClientMeters& meters_;
  ParsedResponse& answer_;
  ResponseHeadParser parser_;
  ClientLink* link_ = nullptr;
  std::size_t head_bytes_ = 0;
  std::uint32_t interim_ = 0;
  bool consent_ = false;   // 100 Continue
  bool answered_ = false;  // the final head is there
  bool heard_ = false;     // a byte of an answer arrived
  bool ended_ = false;     // closed or reset by the upstream
  bool deaf_ = false;      // the upstream takes no more bytes
  bool sent_whole_ = false;
  bool source_used_ = false;
};

}  // namespace ron::http
