#include "http/connection.h"

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "http/request_span.h"
#include "http/uri.h"
#include "runtime/background.h"

namespace ron::http {

using base::Code;

namespace {

constexpr base::Duration kLinger = std::chrono::seconds(1);
// How much of a refused body is read, and for how long, so that whoever is still sending it gets to
// see the answer.
constexpr std::uint64_t kDropBytes = 256 * base::kMiB;
constexpr base::Duration kDropTime = std::chrono::seconds(10);
// Never sent: the status of a request whose client left, as it is counted and logged.
constexpr int kClientGone = 499;

}  // namespace

Connection::Connection(LoopContext& loop, std::unique_ptr<platform::Stream> stream,
                       Ingress::Admission admission)
    : loop_(loop), admission_(std::move(admission)), wire_(std::move(stream), loop.buffers) {
  loop_.connections_total.add();
}

Connection::~Connection() = default;

void Connection::retire() noexcept {
  retiring_ = true;
  wire_.interrupt();
}

// Agrees on what TLS needs, within the time a head may take. False: the connection ends.
platform::Task<bool> Connection::establish() {
  platform::Stream& stream = wire_.stream();
  if (!stream.needs_handshake()) co_return true;
  const platform::TimePoint latest =
      platform::Executor::current()->now() + loop_.settings->read_timeout;
  const base::Result<> agreed = co_await stream.handshake(latest);
  if (!agreed) {
    loop_.ingress.rejections.tls.add();
    loop_.log.debug("no TLS", {{"what", agreed.error().message}});
  }
  co_return agreed.has_value();
}

platform::Task<void> Connection::serve() {
  // Gives the request's state back however the connection ends.
  struct Borrowed {
    LoopContext& loop;
    std::unique_ptr<Work> work;
    ~Borrowed() { give_back(); }
    void give_back() {
      if (!work) return;
      work->clear();
      loop.buffers.give_back(std::move(work->head_buffer));
      loop.works.give_back(std::move(work));
    }
  } borrowed{loop_, nullptr};
  const bool established = co_await establish();
  if (!established) co_return;
  for (;;) {
    if (wire_.pending().empty()) {
      borrowed.give_back();
      const bool arrived = co_await await_request();
      if (!arrived) co_return;
    }
    if (wire_.turn_is_over()) co_await wire_.give_way();
    if (!borrowed.work) borrowed.work = loop_.works.take();
    Work* const work = borrowed.work.get();
    begin_request(*work);
    const HeadRead read = co_await read_head(work);
    if (read == HeadRead::Gone) co_return;
    if (read == HeadRead::TimedOut) loop_.read_timeouts.add();
    if (read == HeadRead::Bad) loop_.ingress.rejections.head.add();
    const bool again = co_await answer_one(work);
    if (!again) break;
  }
  co_await wire_.linger(kLinger);
}

// Waits for the first byte of a request, holding as little memory as possible. False: the
// connection ends.
platform::Task<bool> Connection::await_request() {
  wire_.release_if_empty();
  wire_.watch_in(loop_.settings->idle_timeout);
  for (;;) {
    // Told to end, maybe while it was busy: a request that is here already is the last one.
    if (retiring_ || loop_.draining) co_return wire_.try_fill().ok();
    const WireEnd end = co_await wire_.fill();
    if (end == WireEnd::None) co_return true;
    if (end == WireEnd::TimedOut) loop_.idle_timeouts.add();
    if (end != WireEnd::Interrupted) co_return false;
  }
}

platform::Task<void> Connection::turn_away(base::Error error) {
  const bool established = co_await establish();
  if (!established) co_return;
  std::unique_ptr<Work> work = loop_.works.take();
  begin_request(*work);
  work->request.corr_id = loop_.new_corr_id();
  Response response = refuse(*work, error);
  work->head = RequestHead();
  const WireEnd sent = co_await writer_.send(work.get(), &response);
  answered(*work, response, sent);
  work->clear();
  loop_.works.give_back(std::move(work));
  if (sent == WireEnd::None) co_await wire_.linger(kLinger);
}

void Connection::begin_request(Work& work) {
  work.clear();
  work.settings = loop_.settings;
  work.meters = &loop_.router.unmatched();
  work.refusal = {};
  work.started = platform::Executor::current()->now();
  work.keep_alive = false;
  work.request = Request();
  work.request.peer = &wire_.stream().peer();
  work.request.is_secure = wire_.stream().is_secure();
  work.request.head = &work.head;
}

// A head must be complete within the read timeout from its first byte, however it dribbles in.
platform::Task<Connection::HeadRead> Connection::read_head(Work* work) {
  bool watching = false;
  for (;;) {
    const HeadOutcome outcome = parser_.parse(wire_.pending(), work->head);
    if (outcome.progress == Progress::Done) {
      work->head_bytes = outcome.consumed;
      wire_.unwatch();
      co_return HeadRead::Ready;
    }
    if (outcome.progress == Progress::Bad) {
      work->refusal = outcome.refusal;
      co_return HeadRead::Bad;
    }
    if (!std::exchange(watching, true)) wire_.watch_in(work->settings->read_timeout);
    const WireEnd end = co_await wire_.fill();
    if (end == WireEnd::TimedOut) {
      work->refusal = {Code::ReadTimeout,
                       "the request head did not arrive within the read timeout"};
      co_return HeadRead::TimedOut;
    }
    if (end == WireEnd::Closed) co_return HeadRead::Gone;
  }
}

// Serves the request whose head was read (or refused). False when the connection must end.
platform::Task<bool> Connection::answer_one(Work* work) {
  Response response;
  if (work->refusal.message.empty()) {
    const auto given = work->head.get(KnownField::CorrelationId);
    const std::optional<base::Ulid> parsed = given ? base::Ulid::parse(*given) : std::nullopt;
    work->request.corr_id = parsed ? *parsed : loop_.new_corr_id();
    response = co_await respond(work);
  } else {
    work->request.corr_id = loop_.new_corr_id();
    work->head = RequestHead();
    response = refuse(*work, work->refusal.error());
  }
  if (work->body && work->body->timed_out()) loop_.read_timeouts.add();
  const bool body_left = work->body && !work->body->finished();
  work->keep_alive = work->head.keep_alive && work->refusal.message.empty() && !response.close &&
                     !body_left && !retiring_ && !loop_.draining;
  WireEnd sent = WireEnd::Closed;
  const bool can_answer =
      response.status != kClientGone && !(work->body && work->body->broke_off());
  if (can_answer) sent = co_await writer_.send(work, &response);
  answered(*work, response, sent);
  work->permit = {};
  const bool still_sending = body_left && !work->body->timed_out();
  if (still_sending && sent == WireEnd::None) co_await drop_body(work);
  work->body.reset();
  loop_.buffers.give_back(std::move(work->head_buffer));
  if (sent == WireEnd::TimedOut) loop_.write_timeouts.add();
  if (sent != WireEnd::None) {
    wire_.stream().abort();
    co_return false;
  }
  co_return work->keep_alive;
}

// Counts an answer and writes its line and its span, if anybody wants them. A refusal has a line at
// debug as well, so that its correlation id leads somewhere without an access log.
void Connection::answered(Work& work, const Response& response, WireEnd sent) {
  wire_.spend(Wire::kRequestBytes);
  const base::Duration took = platform::Executor::current()->now() - work.started;
  work.meters->answered(response.status, took);
  record_span(loop_, work.request, response, took);
  if (loop_.on_error && !response.error_code.empty()) loop_.on_error(response.error_code);
  using observe::Level;
  if (loop_.access.enabled(Level::kInfo)) {
    tell(loop_.access, Level::kInfo, work, response, sent, took);
  }
  if (response.status >= 400 && loop_.log.enabled(Level::kDebug)) {
    tell(loop_.log, Level::kDebug, work, response, sent, took);
  }
}

void Connection::tell(const observe::Log& log, observe::Level level, const Work& work,
                      const Response& response, WireEnd sent, base::Duration took) {
  const Request& request = work.request;
  const bool has_body = work.head.method != Method::Head && !response.is_bodiless();
  std::string_view route = "unmatched";
  if (request.route != nullptr) route = request.route->pattern;
  const std::string_view end = response.status == kClientGone ? "gone"
                               : sent == WireEnd::None        ? "sent"
                               : sent == WireEnd::TimedOut    ? "timed-out"
                                                              : "cut";
  const observe::Value token =
      request.token.empty() ? observe::Value("") : observe::Value(observe::Redacted(request.token));
  log.with(request.corr_id)
      .log(level, response.status < 400 ? "request" : "request refused",
           {{"method", work.head.method_text},
            {"route", route},
            {"status", response.status},
            {"code", response.error_code},
            {"bytes", has_body ? response.content_length().value_or(0) : 0},
            {"end", end},
            {"duration_us", std::chrono::duration_cast<std::chrono::microseconds>(took).count()},
            {"tenant", request.tenant},
            {"token", token}});
}

// The connection ends after this answer, but not before its client had the time to see it: one that
// is still sending would hear of a reset instead.
platform::Task<void> Connection::drop_body(Work* work) {
  BodyReader& body = *work->body;
  if (!body.start_dropping(runtime::Deadline::in(kDropTime))) co_return;
  for (std::uint64_t dropped = 0; dropped < kDropBytes;) {
    if (body.finished() || retiring_ || loop_.draining) co_return;
    const base::Result<base::ByteView> piece = co_await body.next_raw();
    if (!piece) co_return;
    dropped += piece->size();
  }
}

Response Connection::refuse(const Work& work, const base::Error& error) {
  return Response::error(error, work.request.corr_id);
}

base::Result<void> Connection::route(Work& work) {
  Request& request = work.request;
  if (work.head.target == "*") return {};  // matches no route
  const Target target = split_target(work.head.target);
  const Checked<std::string_view> path = decode_path(target.path, work.uri);
  if (!path) return base::fail(path.error().error());
  request.path = *path;
  request.query = target.query;
  return {};
}

// From the route to the handler's door. Nothing: the handler may run. Otherwise the answer.
std::optional<Response> Connection::admit(Work& work) {
  Request& request = work.request;
  const ServerSettings& settings = *work.settings;
  if (const base::Result<void> routed = route(work); !routed) {
    // Whoever sends such a target probes for disagreement between readers: no second try.
    Response response = refuse(work, routed.error());
    response.close = true;
    return response;
  }
  if (std::optional<Response> unrouted = loop_.router.route(request)) return unrouted;
  work.meters = request.route_meters;
  Passage passage{request, *request.route, *work.meters, settings, loop_.clock, work.started};
  const base::Result<void> admitted = loop_.ingress.admit(passage);
  if (!admitted) return refuse(work, admitted.error());
  work.permit = std::move(passage.permit);
  work.body->set_coding(passage.coding);
  work.body->set_deadline(request.deadline);
  return std::nullopt;
}

platform::Task<Response> Connection::respond(Work* work) {
  wire_.consume(work->head_bytes);
  // Reading a body reuses the buffer the head's views point into: keep those bytes apart.
  if (work->head.has_body()) work->head_buffer = wire_.detach();
  work->body.emplace(wire_, work->head, *work->settings, Coding::Identity, loop_.decoders,
                     loop_.ingress.rejections);
  work->request.body = &*work->body;
  std::optional<Response> refused = admit(*work);
  if (refused) co_return std::move(*refused);
  std::string what;
  try {
    co_return co_await handle(work);
  } catch (const std::exception& failure) {
    what = failure.what();
  }
  loop_.log.with(work->request.corr_id).error("handler failed", {{"what", what}});
  co_return refuse(*work, {Code::Internal, "the request failed; the server's log has the details"});
}

// The handler, for as long as somebody waits for its answer: dropping it aborts what it waits for.
platform::Task<Response> Connection::handle(Work* work) {
  peer_.begin(platform::Executor::current()->now());
  runtime::Background<Response> handling(work->request.route->handler(&work->request));
  if (handling.done()) co_return handling.take();
  using Ended = PeerWatch::Ended;
  const Ended ended = co_await peer_.wait(&handling, &*work->body, work->request.deadline);
  // A handler that keeps the deadline itself has the better answer, in this very turn.
  if (ended == Ended::TimedOut) co_await platform::Yield();
  if (handling.done()) co_return handling.take();
  if (ended == Ended::PeerLeft) {
    loop_.clients_gone.add();
    co_return Response(kClientGone);
  }
  loop_.deadlines_passed.add();
  co_return refuse(*work, {Code::Timeout, "the request was not done before its deadline"});
}

}  // namespace ron::http
