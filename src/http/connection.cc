#include "http/connection.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <exception>
#include <optional>
#include <utility>

#include "http/message.h"
#include "http/metric_names.h"
#include "runtime/metric_names.h"

namespace ron::http {

using base::Code;

namespace {

constexpr base::Duration kLinger = std::chrono::seconds(1);
// How much of a refused body is read, and for how long, so that whoever is still sending it gets to
// see the answer.
constexpr std::uint64_t kDropBytes = 256 * base::kMiB;
constexpr base::Duration kDropTime = std::chrono::seconds(10);
constexpr std::size_t kByReferenceBytes =
    32 * base::kKiB;  // below it a copy is cheaper than a second call

}  // namespace

CoreContext::CoreContext(const Router& router_in, Ingress& ingress_in, runtime::Meters& meters,
                         const ServerLogs& logs, const platform::Clock& clock_in,
                         std::uint64_t seed)
    : router(router_in),
      ingress(ingress_in),
      log(logs.log),
      access(logs.access),
      clock(clock_in),
      random(seed),
      connections_total(meters.counter(metrics::kConnectionsTotal)),
      sent_bytes(meters.counter(metrics::kSentBytesTotal)),
      read_timeouts(meters.counter(runtime::metrics::kIoTimeoutsTotal, {"read"})),
      write_timeouts(meters.counter(runtime::metrics::kIoTimeoutsTotal, {"write"})),
      idle_timeouts(meters.counter(runtime::metrics::kIoTimeoutsTotal, {"idle"})) {}

std::string_view CoreContext::date_line() {
  const std::int64_t second = clock.unix_ms() / 1000;
  if (second != date_second_) {
    date_second_ = second;
    const std::time_t time = second;
    std::tm calendar{};
    gmtime_r(&time, &calendar);
    std::array<char, 48> text{};
    const std::size_t length =
        std::strftime(text.data(), text.size(), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &calendar);
    date_line_.assign(text.data(), length);
  }
  return date_line_;
}

base::Ulid CoreContext::new_corr_id() {
  const std::uint64_t high = random.next();
  return {static_cast<std::uint64_t>(clock.unix_ms()), static_cast<std::uint16_t>(high),
          random.next()};
}

Connection::Connection(CoreContext& core, std::unique_ptr<platform::Stream> stream,
                       Ingress::Admission admission)
    : core_(core), admission_(std::move(admission)), wire_(std::move(stream), core.buffers) {
  core_.connections_total.add();
}

Connection::~Connection() = default;

void Connection::retire() noexcept {
  retiring_ = true;
  wire_.interrupt();
}

platform::Task<void> Connection::serve() {
  // Gives the request's state back however the connection ends.
  struct Borrowed {
    CoreContext& core;
    std::unique_ptr<Work> work;
    ~Borrowed() { give_back(); }
    void give_back() {
      if (!work) return;
      work->clear();
      core.buffers.give_back(std::move(work->head_buffer));
      core.works.give_back(std::move(work));
    }
  } borrowed{core_, nullptr};
  for (;;) {
    if (wire_.pending().empty()) {
      borrowed.give_back();
      const bool arrived = co_await await_request();
      if (!arrived) co_return;
    }
    if (wire_.turn_is_over()) co_await wire_.give_way();
    if (!borrowed.work) borrowed.work = core_.works.take();
    Work* const work = borrowed.work.get();
    begin_request(*work);
    const HeadRead read = co_await read_head(work);
    if (read == HeadRead::Gone) co_return;
    if (read == HeadRead::TimedOut) core_.read_timeouts.add();
    if (read == HeadRead::Bad) core_.ingress.rejections.head.add();
    const bool again = co_await answer_one(work);
    if (!again) break;
  }
  co_await wire_.linger(kLinger);
}

// Waits for the first byte of a request, holding as little memory as possible. False: the
// connection ends.
platform::Task<bool> Connection::await_request() {
  wire_.release_if_empty();
  wire_.watch_in(core_.settings->idle_timeout);
  for (;;) {
    // Told to end, maybe while it was busy: a request that is here already is the last one.
    if (retiring_ || core_.draining) co_return wire_.try_fill().ok();
    const WireEnd end = co_await wire_.fill();
    if (end == WireEnd::None) co_return true;
    if (end == WireEnd::TimedOut) core_.idle_timeouts.add();
    if (end != WireEnd::Interrupted) co_return false;
  }
}

platform::Task<void> Connection::turn_away(base::Error error) {
  std::unique_ptr<Work> work = core_.works.take();
  begin_request(*work);
  work->request.corr_id = core_.new_corr_id();
  Response response = refuse(*work, error);
  work->head = RequestHead();
  const WireEnd sent = co_await send(work.get(), &response);
  answered(*work, response, sent);
  work->clear();
  core_.works.give_back(std::move(work));
  if (sent == WireEnd::None) co_await wire_.linger(kLinger);
}

void Connection::begin_request(Work& work) {
  work.clear();
  work.settings = core_.settings;
  work.meters = &core_.router.unmatched();
  work.refusal = {};
  work.started = platform::Executor::current()->now();
  work.keep_alive = false;
  work.request = Request();
  work.request.peer = &wire_.stream().peer();
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
    work->request.corr_id = parsed ? *parsed : core_.new_corr_id();
    response = co_await respond(work);
  } else {
    work->request.corr_id = core_.new_corr_id();
    work->head = RequestHead();
    response = refuse(*work, work->refusal.error());
  }
  if (work->body && work->body->timed_out()) core_.read_timeouts.add();
  const bool body_left = work->body && !work->body->finished();
  work->keep_alive = work->head.keep_alive && work->refusal.message.empty() && !response.close &&
                     !body_left && !retiring_ && !core_.draining;
  const WireEnd sent = co_await send(work, &response);
  answered(*work, response, sent);
  work->permit = {};
  const bool still_sending = body_left && !work->body->timed_out();
  if (still_sending && sent == WireEnd::None) co_await drop_body(work);
  work->body.reset();
  core_.buffers.give_back(std::move(work->head_buffer));
  if (sent == WireEnd::TimedOut) core_.write_timeouts.add();
  if (sent != WireEnd::None) {
    wire_.stream().abort();
    co_return false;
  }
  co_return work->keep_alive;
}

// Counts an answer and writes its line, if anybody wants one. A refusal has one at debug as well,
// so that its correlation id leads somewhere without an access log.
void Connection::answered(Work& work, const Response& response, WireEnd sent) {
  wire_.spend(Wire::kRequestBytes);
  const base::Duration took = platform::Executor::current()->now() - work.started;
  work.meters->answered(response.status, took);
  using observe::Level;
  if (core_.access.enabled(Level::kInfo)) {
    tell(core_.access, Level::kInfo, work, response, sent, took);
  }
  if (response.status >= 400 && core_.log.enabled(Level::kDebug)) {
    tell(core_.log, Level::kDebug, work, response, sent, took);
  }
}

void Connection::tell(const observe::Log& log, observe::Level level, const Work& work,
                      const Response& response, WireEnd sent, base::Duration took) {
  const Request& request = work.request;
  const bool has_body = work.head.method != Method::Head && !response.no_content_length;
  std::string_view route = "unmatched";
  if (request.route != nullptr) route = request.route->pattern;
  const std::string_view end = sent == WireEnd::None       ? "sent"
                               : sent == WireEnd::TimedOut ? "timed-out"
                                                           : "cut";
  const observe::Value token =
      request.token.empty() ? observe::Value("") : observe::Value(observe::Redacted(request.token));
  log.with(request.corr_id)
      .log(level, response.status < 400 ? "request" : "request refused",
           {{"method", work.head.method_text},
            {"route", route},
            {"status", response.status},
            {"code", response.error_code},
            {"bytes", has_body ? response.content_length() : 0},
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
    if (body.finished() || retiring_ || core_.draining) co_return;
    const base::Result<base::ByteView> piece = co_await body.next_raw();
    if (!piece) co_return;
    dropped += piece->size();
  }
}

Response Connection::refuse(Work& work, const base::Error& error) {
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

Response Connection::unrouted(Work& work, const Router::Match& match) {
  if (work.head.method == Method::Options && (match.path_known || work.head.target == "*")) {
    Response response(204);
    response.no_content_length = true;
    response.add("Allow", match.path_known ? match.allow : std::string_view("GET, HEAD, OPTIONS"));
    return response;
  }
  if (work.head.method == Method::Other) {
    return refuse(work, {Code::NotImplemented, "the method is not implemented"});
  }
  if (!match.path_known) return refuse(work, {Code::NotFound, "there is no such route"});
  Response response = refuse(work, {Code::MethodNotAllowed, "the route allows " + match.allow});
  response.add("Allow", match.allow);
  return response;
}

// Stages 3 to 8 of ingress.h. Nothing: the handler may run. Otherwise the answer.
std::optional<Response> Connection::admit(Work& work) {
  Request& request = work.request;
  const ServerSettings& settings = *work.settings;
  if (const base::Result<void> routed = route(work); !routed) {
    // Whoever sends such a target probes for disagreement between readers: no second try.
    Response response = refuse(work, routed.error());
    response.close = true;
    return response;
  }
  const Router::Match match = core_.router.match(work.head.method, request);
  if (match.route == nullptr) return unrouted(work, match);
  request.route = match.route;
  work.meters = match.meters;
  request.route_meters = match.meters;

  const base::Result<Coding> coding = core_.ingress.check_body(work.head, settings);
  if (!coding) {
    core_.ingress.rejections.of(coding.error().code).add();
    return refuse(work, coding.error());
  }
  work.body.emplace(wire_, work.head, settings, *coding, core_.decoders);
  request.body = &*work.body;
  if (match.route->weight == Weight::Light) return std::nullopt;
  base::Result<runtime::Limit::Permit> permit =
      core_.ingress.admit(request, *match.route, *match.meters, settings, work.started);
  if (!permit) return refuse(work, permit.error());
  work.permit = std::move(*permit);
  work.body->set_deadline(request.deadline);
  return std::nullopt;
}

platform::Task<Response> Connection::respond(Work* work) {
  wire_.consume(work->head_bytes);
  // Reading a body reuses the buffer the head's views point into: keep those bytes apart.
  if (work->head.has_body()) work->head_buffer = wire_.detach();
  work->body.emplace(wire_, work->head, *work->settings, Coding::Identity, core_.decoders);
  std::optional<Response> refused = admit(*work);
  if (refused) co_return std::move(*refused);
  std::string what;
  try {
    Response response = co_await work->request.route->handler(&work->request);
    co_return response;
  } catch (const std::exception& failure) {
    what = failure.what();
  }
  core_.log.with(work->request.corr_id).error("handler failed", {{"what", what}});
  co_return refuse(*work, {Code::Internal, "the request failed; the server's log has the details"});
}

std::string_view Connection::render_head(Work& work, const Response& response, bool framed) {
  HeadBuffer out(work.head_out);
  out.append("HTTP/1.1 ");
  out.append(static_cast<std::uint64_t>(response.status));
  out.append(" ");
  out.append(reason(response.status));
  out.append("\r\n");
  out.append(core_.date_line());
  out.append("X-Corr-ID: ");
  out.append(work.request.corr_id.text());
  if (!response.no_content_length) {
    out.append("\r\nContent-Length: ");
    out.append(response.content_length());
  }
  if (!work.keep_alive) {
    out.append("\r\nConnection: close");
  } else if (work.head.minor == 0) {
    out.append("\r\nConnection: keep-alive");
  }
  out.append("\r\n");
  out.append(response.lines);
  if (!framed) {
    out.append(response.prepared_lines);
    out.append("\r\n");
  }
  return out.ok() ? out.view() : std::string_view();
}

platform::Task<WireEnd> Connection::send(Work* work, Response* response) {
  const bool head_only = work->head.method == Method::Head || response->no_content_length;
  const bool framed = !head_only && response->framed_body.size() >= kByReferenceBytes;
  const std::string_view head = render_head(*work, *response, framed);
  if (head.empty()) co_return WireEnd::Closed;
  if (response->source && !head_only) co_return co_await send_source(work, head, response);
  const base::ByteView body = head_only ? base::ByteView() : response->body();
  const base::ByteView rest = framed ? response->framed_body : body;
  const WireEnd end = co_await send_whole(work, base::as_bytes(head), rest, response->memory);
  if (end == WireEnd::None) core_.sent_bytes.add(body.size());
  co_return end;
}

// Small bodies are copied into the packet that carries the head; large ones go by reference. What
// the socket does not take at once waits for its reader, who may be slow: from then on the request
// is not in flight any more.
platform::Task<WireEnd> Connection::send_whole(Work* work, base::ByteView head, base::ByteView body,
                                               const platform::SendMemory* memory) {
  const base::Duration timeout = work->settings->write_timeout;
  WireEnd end = WireEnd::None;
  if (memory != nullptr && body.size() >= kByReferenceBytes) {
    const bool done = wire_.try_send(head, *memory, body, end);
    if (done || end != WireEnd::None) co_return end;
    work->permit = {};
    co_return co_await wire_.send(head, memory, body, timeout);
  }
  std::array<base::ByteView, 2> spans = {head, body};
  const bool done = wire_.try_write(spans, end);
  if (done || end != WireEnd::None) co_return end;
  work->permit = {};
  co_return co_await wire_.write(spans, timeout);
}

// A body that comes in pieces. If it fails half-way or ends early the connection is cut.
platform::Task<WireEnd> Connection::send_source(Work* work, std::string_view head,
                                                Response* response) {
  base::ByteView front = base::as_bytes(head);
  std::uint64_t left = response->source_bytes;
  while (left > 0 || !front.empty()) {
    base::Result<base::ByteView> piece = base::ByteView();
    if (left > 0) piece = co_await response->source->next();
    if (!piece || piece->size() > left || (left > 0 && piece->empty())) co_return WireEnd::Closed;
    left -= piece->size();
    const WireEnd end = co_await send_whole(work, front, *piece, nullptr);
    if (end != WireEnd::None) co_return end;
    front = {};
  }
  core_.sent_bytes.add(response->source_bytes);
  co_return WireEnd::None;
}

}  // namespace ron::http
