// Connection: one client, from accept to close. Reads a head, runs the ingress stages, awaits the
// handler, sends the answer, and again.
//
// Everything of a connection happens in one task on one core: there is exactly one reader and one
// writer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "http/head.h"
#include "http/ingress.h"
#include "http/loop_context.h"
#include "http/peer_watch.h"
#include "http/response_writer.h"
#include "http/wire.h"
#include "observe/log.h"

namespace ron::http {

class Connection {
 public:
  Connection(LoopContext& loop, std::unique_ptr<platform::Stream> stream,
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

  platform::Task<bool> establish();
  platform::Task<bool> await_request();
  platform::Task<HeadRead> read_head(Work* work);
  platform::Task<bool> answer_one(Work* work);
  platform::Task<Response> respond(Work* work);
  platform::Task<Response> handle(Work* work);
  platform::Task<void> drop_body(Work* work);
  base::Result<void> route(Work& work);
  std::optional<Response> admit(Work& work);
  static Response refuse(const Work& work, const base::Error& error);
  void begin_request(Work& work);
  void answered(Work& work, const Response& response, WireEnd sent);
  void tell(const observe::Log& log, observe::Level level, const Work& work,
            const Response& response, WireEnd sent, base::Duration took);

  LoopContext& loop_;
  Ingress::Admission admission_;
  Wire wire_;
  bool retiring_ = false;
  PeerWatch peer_{wire_.stream(), retiring_};
  ResponseWriter writer_{loop_, wire_, peer_};
  HeadParser parser_;
};

}  // namespace ron::http
