// HttpClient: one connection of a client that may behave badly. Written apart from src/http, so
// that a mistake there is not made here too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "platform/host.h"
#include "platform/task.h"
#include "sim/harness/chunks.h"
#include "sim/harness/dice.h"

namespace ron::sim {

using platform::Task;
using platform::TimePoint;

// One response, complete.
struct Answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
  std::string body;
  std::uint64_t content_length = 0;  // as it says; of one in chunks, as it came to
  bool chunked = false;

  // Empty when there is none; the first when there are several.
  [[nodiscard]] std::string_view field(std::string_view lower_case_name) const;
  [[nodiscard]] bool closes() const { return field("connection") == "close"; }
};

// How bytes are moved: pieces of at most this many bytes with a pause after each.
struct Pace {
  std::size_t piece = SIZE_MAX;
  Duration pause{};

  // The time the pauses take for so many bytes.
  [[nodiscard]] Duration total(std::size_t bytes) const {
    return pause * static_cast<Duration::rep>(bytes / piece);
  }
};

enum class WriteEnd : std::uint8_t { Done, Failed, TimedOut, Ignored };
enum class ReadEnd : std::uint8_t {
  Answer,
  Closed,     // the server ended the connection between two answers
  Cut,        // in the middle of one, or by a reset
  TimedOut,   // our deadline passed
  Malformed,  // not HTTP; see complaint()
};

// Lives on one executor of its node. Destroying it closes the connection, with a reset if there are
// bytes it has not read.
class HttpClient {
 public:
  explicit HttpClient(platform::Host host) : host_(host) {}
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // 0, or the errno; ETIMEDOUT when the deadline passes first. Cancel-safe, as all of them.
  Task<int> connect(platform::Endpoint to, TimePoint deadline);
  // Writes all of it, unless the server hangs up while we pause. If a piece is left to send at
  // `word_by` and the server has neither answered nor hung up by then, Ignored.
  Task<WriteEnd> write(std::string bytes, Pace pace, TimePoint deadline,
                       TimePoint word_by = platform::kNever);
  // The next response; interim ones are passed over unless `stop_at_interim`, which returns the
  // first 1xx as an answer.
  Task<ReadEnd> read(Answer* answer, bool to_head, Pace pace, TimePoint deadline,
                     bool stop_at_interim = false);

  // For a body without an end: the head alone, and then what has come of the body, which is in
  // chunks; Closed when it has ended after all.
  Task<ReadEnd> read_head(Answer* answer, TimePoint deadline) {
    return take_head(answer, false, Pace(), deadline);
  }
  Task<ReadEnd> read_some(Chunks* chunks, std::string* body, Pace pace, TimePoint deadline);

  // Nothing more will be written.
  void finish() noexcept { stream_->shutdown_write(); }

  // Bytes handed to the network by the last write().
  [[nodiscard]] std::size_t written() const noexcept { return written_; }
  // Bytes have arrived that belong to no answer read so far.
  [[nodiscard]] bool has_more() const noexcept { return !buffer_.empty(); }
  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }

 private:
  class Alarm;
  Task<ReadEnd> fill(Pace pace, TimePoint deadline);
  Task<ReadEnd> take_head(Answer* answer, bool to_head, Pace pace, TimePoint deadline);
  Task<ReadEnd> read_sized(std::size_t bytes, Answer* answer, Pace pace, TimePoint deadline);
  Task<ReadEnd> read_chunks(Answer* answer, Pace pace, TimePoint deadline);
  [[nodiscard]] bool parse_head(std::string_view head, bool to_head, Answer& answer);
  bool complain(std::string what);

  platform::Host host_;
  std::unique_ptr<platform::Stream> stream_;
  std::string buffer_;
  std::size_t written_ = 0;
  std::size_t since_pause_ = 0;  // bytes read
  std::string complaint_;
};

}  // namespace ron::sim
