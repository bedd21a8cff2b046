// What the connections of one core share, and the state of a request being served.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/body.h"
#include "http/head.h"
#include "http/ingress.h"
#include "http/router.h"
#include "http/uri.h"
#include "http/wire.h"
#include "observe/log.h"
#include "observe/span_queue.h"
#include "platform/clock.h"
#include "platform/random.h"

namespace ron::http {

// The state of the request being served. Taken from the core's pool with its first byte and given
// back when the connection goes idle, so that waiting connections stay small.
struct RequestWork {
  // Rendered heads, prepared lines included, as they usually are.
  static constexpr std::size_t kHeadOutBytes = 2 * base::kKiB;

  RequestHead head;
  UriScratch uri;
  std::array<char, kHeadOutBytes> head_out;
  std::string large_head;  // one that does not fit there
  Request request;
  std::optional<BodyReader> body;
  std::shared_ptr<const ServerSettings> settings;
  RouteMeters* meters = nullptr;
  Refusal refusal{};
  runtime::Limit::Permit permit;
  platform::TimePoint started{};
  std::size_t head_bytes = 0;
  std::unique_ptr<ReadBuffer> head_buffer;  // the head's bytes while a body is read
  bool keep_alive = false;

  // Lets go of everything that counts or refers elsewhere.
  void clear() noexcept {
    body.reset();
    permit = {};
    settings.reset();
    large_head = {};
    request.body = nullptr;
  }
};

struct ServerLogs {
  observe::Log log;
  observe::Log access;  // a line per request, if it is on
};

// Called with the code of an error that a client is told, on the core that answers.
using OnError = std::function<void(std::string_view code)>;

// What the connections of one core share. Lives as long as the core's server.
struct LoopContext {
  LoopContext(const Router& router_in, Ingress& ingress_in, runtime::Meters& meters,
              const ServerLogs& logs, const platform::Clock& clock_in, std::uint64_t seed,
              std::string_view standing_lines_in = {});

  const Router& router;
  Ingress& ingress;
  observe::Log log;
  observe::Log access;
  observe::SpanQueue* spans = nullptr;  // where spans of requests go, if they go anywhere
  OnError on_error;                     // who wants to know what clients are told, if anyone
  const platform::Clock& clock;
  const std::string_view standing_lines;  // of every answer
  platform::FastRandom random;
  BufferPool buffers;
  Pool<RequestWork> works;
  runtime::Semaphore decoders{kDecodersPerCore};
  std::shared_ptr<const ServerSettings> settings;
  bool draining = false;
  runtime::Counter& connections_total;
  runtime::Counter& sent_bytes;
  runtime::Counter& read_timeouts;
  runtime::Counter& write_timeouts;
  runtime::Counter& idle_timeouts;
  runtime::Counter& clients_gone;  // while their answer was being made
  runtime::Counter& deadlines_passed;
  runtime::Gauge& event_streams;

  // `Date: …\r\n` and the standing lines, made anew once a second.
  std::string_view first_lines();
  base::Ulid new_corr_id();

 private:
  std::int64_t date_second_ = -1;
  std::string first_lines_;
};

}  // namespace ron::http
