// Connection: one client, from accept to close. Reads a head, runs the ingress stages, awaits the
// handler, sends the answer, and again.
//
// Everything of a connection happens in one task on one core: there is exactly one reader and one
// writer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "http/head.h"
#include "http/ingress.h"
#include "http/router.h"
#include "http/uri.h"
#include "http/wire.h"
#include "observe/log.h"
#include "platform/clock.h"
#include "platform/random.h"

namespace ron::http {

// The state of the request being served. Taken from the core's pool with its first byte and given
// back when the connection goes idle, so that waiting connections stay small.
struct RequestWork {
  static constexpr std::size_t kHeadOutBytes =
      2 * base::kKiB;  // rendered heads, prepared lines included

  RequestHead head;
  UriScratch uri;
  std::array<char, kHeadOutBytes> head_out;
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
    request.body = nullptr;
  }
};

struct ServerLogs {
  observe::Log log;
  observe::Log access;  // a line per request, if it is on
};

// What the connections of one core share. Lives as long as the core's server.
struct CoreContext {
  CoreContext(const Router& router_in, Ingress& ingress_in, runtime::Meters& meters,
              const ServerLogs& logs, const platform::Clock& clock_in, std::uint64_t seed);

  const Router& router;
  Ingress& ingress;
  observe::Log log;
  observe::Log access;
  const platform::Clock& clock;
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

  // `Date: …\r\n`, made anew once a second.
  std::string_view date_line();
  base::Ulid new_corr_id();

 private:
  std::int64_t date_second_ = -1;
  std::string date_line_;
};

class Connection {
 public:
  Connection(CoreContext& core, std::unique_ptr<platform::Stream> stream,
             Ingress::Admission admission);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Serves until the client or the server ends it. Cancel-safe: aborting cuts the connection.
  platform::Task<void> serve();

  // Tells a client that was not admitted why, and closes. Cancel-safe.
  platform::Task<void> turn_away(base::Error error);

  // Ends the connection after the answer under way; at once when it waits for a request.
  void retire() noexcept;

  // Membership in the core's list of connections.
  Connection* previous = nullptr;
  Connection* next = nullptr;

 private:
  enum class HeadRead : std::uint8_t { Ready, Bad, TimedOut, Gone };
  using Work = RequestWork;

  platform::Task<bool> await_request();
  platform::Task<HeadRead> read_head(Work* work);
  platform::Task<bool> answer_one(Work* work);
  platform::Task<Response> respond(Work* work);
  platform::Task<WireEnd> send(Work* work, Response* response);
  platform::Task<WireEnd> send_whole(Work* work, base::ByteView head, base::ByteView body,
                                     const platform::SendMemory* memory);
  platform::Task<void> drop_body(Work* work);
  platform::Task<WireEnd> send_source(Work* work, std::string_view head, Response* response);
  base::Result<void> route(Work& work);
  std::optional<Response> admit(Work& work);
  Response unrouted(Work& work, const Router::Match& match);
  Response refuse(Work& work, const base::Error& error);
  void begin_request(Work& work);
  void answered(Work& work, const Response& response, WireEnd sent);
  void tell(const observe::Log& log, observe::Level level, const Work& work,
            const Response& response, WireEnd sent, base::Duration took);
  // The head; with `framed`, only what comes before the prepared lines.
  std::string_view render_head(Work& work, const Response& response, bool framed);

  CoreContext& core_;
  Ingress::Admission admission_;
  Wire wire_;
  HeadParser parser_;
  bool retiring_ = false;
};

}  // namespace ron::http
