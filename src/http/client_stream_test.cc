// Bodies that stream both ways, over every transport, in a simulated world.
#include <algorithm>
#include <string>
#include <vector>

#include "http/client.h"
#include "http/test_support.h"
#include "platform/test_tls.h"

namespace ron::http {
namespace {

using namespace test;
using base::Code;
using runtime::Deadline;

constexpr std::size_t kPiece = BodyBuffer::kBytes;
constexpr std::size_t kBodyBytes = 32 * kPiece;
// What lies between two ends: the window, and what both ends hold of it in pieces and records.
constexpr std::size_t kOnTheWay = 256 * base::kKiB + 2 * kPiece + platform::kTlsStreamBytes;

// The start of one long text that does not repeat itself.
std::string text_of(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::uint32_t i = 0; i < bytes; ++i) {
    text[i] = static_cast<char>('a' + (i * 2'654'435'761U >> 16) % 26);
  }
  return text;
}

// A request body of `bytes` in whole pieces, which may come slowly and may never end.
class PacedSource final : public BodySource {
 public:
  PacedSource(std::size_t bytes, base::Duration pace = {}) : text_(text_of(bytes)), pace_(pace) {}
  Task<base::Result<base::ByteView>> next() override {
    ++asked;
    const Aborts aborts(this);
    if (pace_ > 0s) co_await runtime::sleep_for(pace_);
    const std::size_t size = std::min(kPiece, text_.size() - given);
    const base::ByteView piece = base::as_bytes(std::string_view(text_).substr(given, size));
    given += size;
    aborts.source->ended = asked;
    co_return piece;
  }

  std::size_t asked = 0;
  std::size_t ended = 0;    // of the calls
  std::size_t aborted = 0;  // the other ones
  std::size_t given = 0;

 private:
  struct Aborts {
    explicit Aborts(PacedSource* of) : source(of) {}
    ~Aborts() { source->aborted = source->asked - source->ended; }
    PacedSource* source;
  };

  std::string text_;
  base::Duration pace_;
};

// What the upstream does with a connection: it reads until the request ends with `until` (empty: it
// reads nothing), then says `answer`, and then reads on or ends.
struct Act {
  std::string until = "\r\n\r\n";
  std::string answer{};
  bool closes = false;
  base::Duration read_pace{};
};

struct Upstream {
  std::vector<Act> acts;  // one for each request
  std::string received;   // of the request under way
  std::string request;    // the last whole one
  std::size_t sent = 0;
  std::size_t accepted = 0;
  std::size_t ends = 0;  // connections that the client ended
};

Task<bool> hear(Upstream* self, platform::Stream* stream, const Act* act) {
  self->received.clear();
  while (!act->until.empty() && !self->received.ends_with(act->until)) {
    if (act->read_pace > 0s) co_await runtime::sleep_for(act->read_pace);
    const auto read = co_await platform::test::read_up_to(stream, 1, kPiece);
    std::string more(kPiece, '\0');
    const auto rest = stream->try_read({reinterpret_cast<std::byte*>(more.data()), more.size()});
    self->received += read.text;
    if (rest.ok()) self->received.append(more, 0, rest.bytes);
    if (read.text.empty()) co_return false;
  }
  self->request = self->received;
  co_return true;
}

Task<void> say(Upstream* self, platform::Stream* stream, const Act* act) {
  for (std::size_t at = 0; at < act->answer.size(); at += kPiece) {
    const std::string part = act->answer.substr(at, kPiece);
    const int failed = co_await platform::test::write_all(stream, part);
    if (failed != 0) co_return;
    self->sent += part.size();
  }
}

Task<void> serve(Upstream* self, platform::Net* net, platform::Endpoint at,
                 std::shared_ptr<const platform::TlsServer> tls) {
  const auto listener = net->listen(at);
  std::size_t next = 0;
  while (next < self->acts.size()) {
    auto stream = co_await platform::test::accept(listener->get());
    ++self->accepted;
    if (tls) {
      stream = tls->secure(std::move(stream));
      const auto agreed = co_await stream->handshake(platform::kNever);
      if (!agreed) continue;
    }
    while (next < self->acts.size()) {
      const Act* const act = &self->acts[next];
      const bool asked = co_await hear(self, stream.get(), act);
      if (!asked) break;
      ++next;
      co_await say(self, stream.get(), act);
      if (act->closes) break;
    }
    if (next > 0 && self->acts[next - 1].closes) {
      stream->shutdown_write();
      co_await runtime::sleep_for(10ms);
      continue;
    }
    if (next == self->acts.size()) co_await platform::test::read_up_to(stream.get(), SIZE_MAX);
    ++self->ends;
  }
  co_await runtime::sleep_until(Deadline());
}

struct Outcome {
  bool done = false;
  int status = 0;
  std::string body;
  std::size_t largest = 0;  // of the pieces
  std::optional<Code> code;
  base::Duration at{};
  SendProgress progress;
};

// Pulls the body with a pause before each piece, and sees how far the upstream is ahead.
struct Pull {
  base::Duration pace{};
  const Upstream* upstream = nullptr;
  std::size_t ahead = 0;
};

Task<void> fetch(Client* client, ClientRequest request, Outcome* out, Pull* pull) {
  request.progress = &out->progress;
  base::Result<ClientResponse> response = co_await client->send(request, Deadline::in(600s));
  if (!response) out->code = response.error().code;
  if (response) out->status = response->status();
  while (response && !out->code) {
    if (pull->pace > 0s) co_await runtime::sleep_for(pull->pace);
    pull->ahead = std::max(pull->ahead, pull->upstream->sent - out->body.size());
    const base::Result<base::ByteView> piece = co_await response->next();
    if (!piece) out->code = piece.error().code;
    if (!piece || piece->empty()) break;
    out->largest = std::max(out->largest, piece->size());
    out->body += base::as_text(*piece);
  }
  out->at = since_start(platform::Executor::current()->now());
  out->done = true;
}

enum class Transport { Tcp, Tls, Unix };

std::string transport_name(const testing::TestParamInfo<Transport>& info) {
  constexpr std::array kNames = {"Tcp", "Tls", "Unix"};
  return kNames[static_cast<std::size_t>(info.param)];
}

class ClientStreamTest : public testing::TestWithParam<Transport> {
 protected:
  void start(std::vector<Act> acts, ClientSettings settings = {}) {
    upstream_.acts = std::move(acts);
    if (secured()) settings.tls = pair_.client;
    settings.clock = &node_.clock();
    const auto tls = secured() ? pair_.server : nullptr;
    serving_.emplace(node_.core(), serve(&upstream_, &node_.net(), at(), tls));
    world_.run_for(0ms);
    client_.emplace(caller().net(), settings, meters_);
  }
  std::unique_ptr<Root> begin(ClientRequest request, Outcome& out) {
    request.endpoint = at();
    request.host = "upstream";
    if (secured()) request.tls_host = "localhost";
    pull_.upstream = &upstream_;
    return std::make_unique<Root>(caller().core(), fetch(&*client_, request, &out, &pull_));
  }
  Outcome run(ClientRequest request) {
    Outcome out;
    const auto running = begin(request, out);
    EXPECT_EQ(world_.run_until([&] { return out.done; }, 600s), sim::Outcome::Done);
    return out;
  }
  static ClientRequest put(BodySource& source, std::optional<std::uint64_t> bytes = {}) {
    return {.method = Method::Put, .source = &source, .source_bytes = bytes};
  }
  [[nodiscard]] std::int64_t kept() const {
    return reading(meters_, "http_client_connections", "idle");
  }
  [[nodiscard]] std::int64_t in_use() const {
    return reading(meters_, "http_client_connections", "active");
  }
  [[nodiscard]] bool secured() const { return GetParam() == Transport::Tls; }
  // A Unix socket does not leave its machine.
  sim::Node& caller() { return GetParam() == Transport::Unix ? node_ : peer_; }
  platform::Endpoint at() const {
    if (GetParam() == Transport::Unix) return *platform::Endpoint::unix_socket("/run/up.sock");
    return node_.endpoint(80);
  }

  runtime::Meters meters_{"svc-client"};
  platform::test::TlsPair pair_;
  sim::World world_{5, exact_world()};
  sim::Node& node_ = world_.add_node();
  sim::Node& peer_ = world_.add_node();
  Upstream upstream_;
  std::optional<Root> serving_;
  std::optional<Client> client_;
  Pull pull_;
};
INSTANTIATE_TEST_SUITE_P(Transports, ClientStreamTest,
                         testing::Values(Transport::Tcp, Transport::Tls, Transport::Unix),
                         transport_name);

std::string answer_of(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST_P(ClientStreamTest, ALargeBodyGoesOutAndALargeOneComesBack) {
  PacedSource source(kBodyBytes);
  const std::string body = text_of(kBodyBytes);
  start({{.until = body.substr(kBodyBytes - 1000), .answer = answer_of(body)}, {.answer = "x"}});
  const Outcome out = run(put(source, kBodyBytes));
  EXPECT_EQ(out.status, 200);
  EXPECT_TRUE(out.body == body);
  EXPECT_TRUE(upstream_.request.ends_with("\r\n\r\n" + body));
  EXPECT_LE(out.largest, kPiece);
  EXPECT_GT(out.largest, kPiece / 2) << "pieces are as small as the buffer of a head";
  EXPECT_EQ(kept(), 1);
}

TEST_P(ClientStreamTest, ABodyWithoutLengthIsChunkedBothWays) {
  PacedSource source(4 * kPiece);
  const std::string body = text_of(4 * kPiece);
  std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t from = 0; from < body.size(); from += 4096) {
    chunks += "1000\r\n" + body.substr(from, 4096) + "\r\n";
  }
  start({{.until = "\r\n0\r\n\r\n", .answer = chunks + "0\r\n\r\n"}, {.answer = "x"}});
  const Outcome out = run(put(source));
  EXPECT_TRUE(out.body == body);
  EXPECT_GT(out.largest, 4096U) << "chunks that have arrived are one piece";
  EXPECT_NE(upstream_.request.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_EQ(kept(), 1);
}

TEST_P(ClientStreamTest, ASourceIsNotAskedFasterThanTheUpstreamReads) {
  PacedSource source(kBodyBytes);
  const std::string body = text_of(kBodyBytes);
  start({{.until = body.substr(kBodyBytes - 1000),
          .answer = std::string(kOk),
          .read_pace = std::chrono::milliseconds(20)}});
  Outcome out;
  const auto running = begin(put(source, kBodyBytes), out);
  std::size_t ahead = 0;
  while (!out.done) {
    world_.run_for(5ms);
    ahead = std::max(ahead, source.given - std::min(source.given, upstream_.received.size()));
  }
  EXPECT_EQ(out.body, "ok");
  EXPECT_GT(ahead, kPiece);
  EXPECT_LE(ahead, kOnTheWay);
}

TEST_P(ClientStreamTest, AnAnswerIsNotReadFasterThanItsCallerTakesIt) {
  const std::string body = text_of(kBodyBytes);
  start({{.answer = answer_of(body)}});
  pull_.pace = 20ms;
  const Outcome out = run({});
  EXPECT_TRUE(out.body == body);
  EXPECT_LE(pull_.ahead, kOnTheWay);
}

// The upstream refuses while the body has nothing to send: the answer must not wait for the body.
TEST_P(ClientStreamTest, AnEarlyAnswerIsHeardWhileTheSourceWaits) {
  PacedSource source(kBodyBytes, 100s);
  start({{.answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno"}});
  const Outcome out = run(put(source, kBodyBytes));
  EXPECT_EQ(out.status, 413);
  EXPECT_EQ(out.body, "no");
  EXPECT_LT(out.at, 1s);
  EXPECT_EQ(source.aborted, 1U);
  EXPECT_EQ(kept(), 0) << "the upstream still waits for a body on it";
}

TEST_P(ClientStreamTest, AnEarlyAnswerStopsTheBody) {
  PacedSource source(kBodyBytes, 10ms);
  start({{.until = "\r\n\r\n" + text_of(kPiece),
          .answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"}});
  const Outcome out = run(put(source, kBodyBytes));
  EXPECT_EQ(out.status, 403);
  EXPECT_LT(source.given, kBodyBytes / 2);
  EXPECT_EQ(kept(), 0);
  world_.run_for(1s);
  EXPECT_EQ(upstream_.ends, 1U);
}

TEST_P(ClientStreamTest, AnUpstreamThatLeavesWhileTheSourceWaitsIsNoticed) {
  PacedSource source(kBodyBytes, 100s);
  start({{.answer = "", .closes = true}});
  const Outcome out = run(put(source, kBodyBytes));
  EXPECT_EQ(out.code, Code::UpstreamFail);
  EXPECT_LT(out.at, 1s);
  EXPECT_TRUE(out.progress.sent);
  EXPECT_FALSE(out.progress.answered);
  EXPECT_FALSE(out.progress.repeatable(true)) << "its body is used";
}

TEST_P(ClientStreamTest, ABodyThatIsCutIsNotTakenForAWholeOne) {
  const std::string body = text_of(4 * kPiece);
  start({{.answer = answer_of(body).substr(0, 3 * kPiece), .closes = true}});
  const Outcome out = run({});
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.code, Code::UpstreamFail);
  EXPECT_TRUE(body.starts_with(out.body));
  EXPECT_EQ(kept() + in_use(), 0);
}

TEST_P(ClientStreamTest, ABodyUntilTheEndNeedsTheEnd) {
  const std::string body = text_of(2 * kPiece);
  start({{.answer = "HTTP/1.1 200 OK\r\n\r\n" + body, .closes = true}});
  const Outcome out = run({});
  EXPECT_FALSE(out.code);
  EXPECT_TRUE(out.body == body);
  EXPECT_EQ(kept(), 0);
}

// A small body that is still at hand is sent again when the kept connection had died.
TEST_P(ClientStreamTest, ASmallSourceSurvivesAStaleConnection) {
  PacedSource source(100);
  start({{.answer = std::string(kOk)},
         {.until = text_of(100), .closes = true},
         {.until = text_of(100), .answer = std::string(kOk)}});
  EXPECT_EQ(run({}).body, "ok");
  const Outcome out = run(put(source, 100));
  EXPECT_EQ(out.body, "ok");
  EXPECT_EQ(source.asked, 1U);
  EXPECT_EQ(upstream_.accepted, 2U);
  EXPECT_TRUE(upstream_.request.ends_with("\r\n\r\n" + text_of(100)));
}

TEST_P(ClientStreamTest, ALongSourceIsNotSentTwice) {
  PacedSource source(kBodyBytes);
  start({{.answer = std::string(kOk)}, {.until = text_of(kPiece), .closes = true}});
  EXPECT_EQ(run({}).body, "ok");
  const Outcome out = run(put(source, kBodyBytes));
  EXPECT_EQ(out.code, Code::UpstreamFail);
  EXPECT_EQ(upstream_.accepted, 1U);
}

TEST_P(ClientStreamTest, AWaitForTheSourceEndsAtTheDeadline) {
  PacedSource source(kBodyBytes, 10'000s);
  start({{.until = "never"}}, {.write_timeout = 1s});
  Outcome out;
  const auto running = begin(put(source, kBodyBytes), out);
  world_.run_for(700s);
  EXPECT_EQ(out.code, Code::Timeout);
  EXPECT_EQ(out.at, 600s);
}

// Whenever it is dropped, the connection goes, the source is left alone, and the next request
// works.
TEST_P(ClientStreamTest, AnExchangeMayBeDroppedAtAnyMoment) {
  const std::string body = text_of(3 * kPiece);
  const Act act{.until = body.substr(3 * kPiece - 1000), .answer = answer_of(body)};
  std::size_t completed = 0;
  for (base::Duration after = 0ms; after < 30ms; after += 500us) {
    SCOPED_TRACE(after.count());
    client_.reset();
    serving_.reset();
    start({act, act, act});
    PacedSource source(3 * kPiece, 2ms);
    pull_.pace = 2ms;
    Outcome out;
    auto running = begin(put(source, 3 * kPiece), out);
    world_.run_for(after);
    running.reset();
    const std::size_t asked = source.asked;
    EXPECT_EQ(in_use(), 0);
    world_.run_for(1s);
    EXPECT_EQ(source.asked, asked);
    completed += out.done ? 1 : 0;
    PacedSource again(3 * kPiece);
    EXPECT_TRUE(run(put(again, 3 * kPiece)).body == body);
  }
  EXPECT_GT(completed, 0U);
  EXPECT_LT(completed, 40U);
}

// Whatever the network does to streams, what arrives whole is right and nothing leaks.
TEST(ClientStream, SurvivesARoughNetwork) {
  std::size_t answered = 0;
  const std::string body = text_of(5 * kPiece);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    sim::FaultPlan faults = sim::FaultPlan::rough();
    faults.reset_segment = 3'000;
    sim::World world(seed, {.faults = faults});
    sim::Node& node = world.add_node();
    sim::Node& peer = world.add_node();
    Upstream upstream;
    upstream.acts = {{.until = body.substr(body.size() - 1000), .answer = answer_of(body)}};
    const Root serving(node.core(), serve(&upstream, &node.net(), node.endpoint(80), nullptr));
    runtime::Meters meters("svc-client");
    Client client(peer.net(), {}, meters);
    PacedSource source(body.size(), 1ms);
    Outcome out;
    Pull pull{.upstream = &upstream};
    const Root running(peer.core(), fetch(&client,
                                          {.endpoint = node.endpoint(80),
                                           .method = Method::Put,
                                           .source = &source,
                                           .source_bytes = body.size()},
                                          &out, &pull));
    world.run_for(600s);
    EXPECT_TRUE(out.done);
    EXPECT_TRUE(body.starts_with(out.body));
    EXPECT_EQ(out.body.size() == body.size(), !out.code.has_value());
    if (!out.code) ++answered;
    EXPECT_EQ(reading(meters, "http_client_connections", "active"), 0);
  }
  EXPECT_GT(answered, 20U);
  EXPECT_LT(answered, 60U) << "no fault was met";
}

}  // namespace
}  // namespace ron::http
