#include "sim/harness/http_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "runtime/deadline.h"

namespace ron::sim {
namespace {

constexpr std::size_t kReadBytes = 16 * base::kKiB;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

template <class Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool has_no_body(int status, bool to_head) {
  return to_head || status < 200 || status == 204 || status == 304;
}

}  // namespace

std::string_view Answer::field(std::string_view lower_case_name) const {
  const auto found = std::ranges::find(
      fields, lower_case_name, [](const auto& each) { return std::string_view(each.first); });
  return found == fields.end() ? std::string_view() : found->second;
}

// Wakes whoever waits for the stream when the time has come.
class HttpClient::Alarm : private platform::Timer {
 public:
  Alarm(platform::Stream& stream, TimePoint at)
      : Timer(&Alarm::ring), stream_(stream), executor_(*platform::Executor::current()) {
    if (at <= executor_.now()) {
      rung_ = true;
    } else if (at != platform::kNever) {
      executor_.arm(*this, at);
    }
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() {
    if (armed()) executor_.disarm(*this);
  }
  [[nodiscard]] bool rung() const noexcept { return rung_; }

 private:
  static void ring(Timer& timer) noexcept {
    auto& self = static_cast<Alarm&>(timer);
    self.rung_ = true;
    self.stream_.readable().nudge();
    self.stream_.writable().nudge();
  }
  platform::Stream& stream_;
  platform::Executor& executor_;
  bool rung_ = false;
};

bool HttpClient::complain(std::string what) {
  complaint_ = std::move(what);
  return false;
}

Task<int> HttpClient::connect(platform::Endpoint to, TimePoint deadline) {
  auto stream = host_.net.connect(to);
  if (!stream) co_return ECONNREFUSED;
  stream_ = std::move(*stream);
  buffer_.clear();
  const Alarm alarm(*stream_, deadline);
  for (;;) {
    const platform::IoResult result = stream_->try_write({});
    if (result.ok()) co_return 0;
    if (!result.would_block()) co_return result.error;
    if (alarm.rung()) co_return ETIMEDOUT;
    co_await stream_->writable().wait();
  }
}

Task<WriteEnd> HttpClient::write(std::string bytes, Pace pace, TimePoint deadline,
                                 TimePoint word_by) {
  written_ = 0;
  const Alarm alarm(*stream_, deadline);
  while (written_ < bytes.size()) {
    std::size_t piece_left = std::min(pace.piece, bytes.size() - written_);
    while (piece_left > 0) {
      const base::ByteView span =
          base::as_bytes(std::string_view(bytes).substr(written_, piece_left));
      const platform::IoResult result = stream_->try_write({&span, 1});
      if (result.ok()) {
        written_ += result.bytes;
        piece_left -= result.bytes;
      } else if (!result.would_block()) {
        co_return WriteEnd::Failed;
      } else {
        if (alarm.rung()) co_return WriteEnd::TimedOut;
        co_await stream_->writable().wait();
      }
    }
    if (pace.pause > Duration::zero() && written_ < bytes.size()) {
      co_await runtime::sleep_for(pace.pause);
      if (stream_->peer_gone()) co_return WriteEnd::Failed;
      const bool ignored = platform::Executor::current()->now() > word_by;
      if (ignored && !stream_->readable().is_set()) co_return WriteEnd::Ignored;
    }
  }
  co_return WriteEnd::Done;
}

// Adds what has arrived to the buffer. Answer stands for success.
Task<ReadEnd> HttpClient::fill(Pace pace, TimePoint deadline) {
  const Alarm alarm(*stream_, deadline);
  std::array<std::byte, kReadBytes> bytes;
  const std::size_t want = std::min(bytes.size(), pace.piece);
  for (;;) {
    const platform::IoResult result = stream_->try_read({bytes.data(), want});
    if (result.ok()) {
      buffer_.append(base::as_text({bytes.data(), result.bytes}));
      since_pause_ += result.bytes;
      if (pace.pause > Duration::zero() && since_pause_ >= pace.piece) {
        since_pause_ = 0;
        co_await runtime::sleep_for(pace.pause);
      }
      co_return ReadEnd::Answer;
    }
    if (result.kind == platform::IoResult::Kind::Eof) {
      co_return buffer_.empty() ? ReadEnd::Closed : ReadEnd::Cut;
    }
    if (!result.would_block()) co_return ReadEnd::Cut;
    if (alarm.rung()) co_return ReadEnd::TimedOut;
    co_await stream_->readable().wait();
  }
}

bool HttpClient::parse_head(std::string_view head, bool to_head, Answer& answer) {
  const std::size_t line_end = std::min(head.find("\r\n"), head.size());
  const std::string_view line = head.substr(0, line_end);
  if (!line.starts_with("HTTP/1.1 ") || line.size() < 13 || line[12] != ' ' ||
      !parse_number(line.substr(9, 3), answer.status)) {
    return complain("bad status line '" + std::string(line) + "'");
  }
  head.remove_prefix(std::min(line_end + 2, head.size()));
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view field = head.substr(0, end);
    const std::size_t colon = field.find(": ");
    if (colon == std::string_view::npos || colon == 0) {
      return complain("bad header line '" + std::string(field) + "'");
    }
    answer.fields.emplace_back(lower(field.substr(0, colon)), field.substr(colon + 2));
    head.remove_prefix(std::min(end + 2, head.size()));
  }
  const std::string_view length = answer.field("content-length");
  if (!length.empty() && !parse_number(length, answer.content_length)) {
    return complain("bad Content-Length '" + std::string(length) + "'");
  }
  const std::string_view coding = answer.field("transfer-encoding");
  answer.chunked = coding == "chunked";
  if (!coding.empty() && !answer.chunked) return complain("an unknown transfer coding");
  if (answer.chunked && !length.empty()) return complain("a length and chunks");
  const bool needs_end = !has_no_body(answer.status, to_head);
  if (needs_end && length.empty() && !answer.chunked) {
    return complain("an answer without Content-Length");
  }
  return true;
}

Task<ReadEnd> HttpClient::read_sized(std::size_t bytes, Answer* answer, Pace pace,
                                     TimePoint deadline) {
  while (buffer_.size() < bytes) {
    const ReadEnd filled = co_await fill(pace, deadline);
    if (filled != ReadEnd::Answer) co_return filled == ReadEnd::Closed ? ReadEnd::Cut : filled;
  }
  answer->body = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  co_return ReadEnd::Answer;
}

Task<ReadEnd> HttpClient::read_chunks(Answer* answer, Pace pace, TimePoint deadline) {
  Chunks chunks;
  for (;;) {
    const Chunks::State state = chunks.feed(buffer_, answer->body);
    if (state == Chunks::State::Done) break;
    if (state == Chunks::State::Bad) {
      complain("bad chunks");
      co_return ReadEnd::Malformed;
    }
    const ReadEnd filled = co_await fill(pace, deadline);
    if (filled != ReadEnd::Answer) co_return filled == ReadEnd::Closed ? ReadEnd::Cut : filled;
  }
  answer->content_length = answer->body.size();
  co_return ReadEnd::Answer;
}

Task<ReadEnd> HttpClient::read_some(Chunks* chunks, std::string* body, Pace pace,
                                    TimePoint deadline) {
  const std::size_t before = body->size();
  for (;;) {
    const Chunks::State state = chunks->feed(buffer_, *body);
    if (state == Chunks::State::Bad) {
      complain("bad chunks");
      co_return ReadEnd::Malformed;
    }
    if (body->size() > before) co_return ReadEnd::Answer;
    if (state == Chunks::State::Done) co_return ReadEnd::Closed;
    const ReadEnd filled = co_await fill(pace, deadline);
    if (filled != ReadEnd::Answer) co_return filled;
  }
}

Task<ReadEnd> HttpClient::take_head(Answer* answer, bool to_head, Pace pace, TimePoint deadline) {
  *answer = {};
  std::size_t head_bytes = buffer_.find(kHeadEnd);
  while (head_bytes == std::string::npos) {
    const ReadEnd filled = co_await fill(pace, deadline);
    if (filled != ReadEnd::Answer) co_return filled;
    head_bytes = buffer_.find(kHeadEnd);
  }
  const bool good = parse_head(std::string_view(buffer_).substr(0, head_bytes), to_head, *answer);
  if (!good) co_return ReadEnd::Malformed;
  buffer_.erase(0, head_bytes + kHeadEnd.size());
  co_return ReadEnd::Answer;
}

Task<ReadEnd> HttpClient::read(Answer* answer, bool to_head, Pace pace, TimePoint deadline,
                               bool stop_at_interim) {
  for (;;) {
    ReadEnd end = co_await take_head(answer, to_head, pace, deadline);
    if (end != ReadEnd::Answer) co_return end;
    if (has_no_body(answer->status, to_head)) {
      // Whatever comes next is another answer.
    } else if (answer->chunked) {
      end = co_await read_chunks(answer, pace, deadline);
    } else {
      end = co_await read_sized(answer->content_length, answer, pace, deadline);
    }
    if (end != ReadEnd::Answer) co_return end;
    if (answer->status >= 200 || stop_at_interim) co_return ReadEnd::Answer;
  }
}

}  // namespace ron::sim
