#include "http/client.h"

#include <string>
#include <vector>

#include "http/client_test_support.h"
#include "platform/contract_world.h"
#include "platform/posix/host.h"

namespace ron::http {
namespace {

using namespace test;

TEST_F(ClientTest, GetsAnAnswer) {
  start();
  const Outcome out = run(request());
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.body, "hello");
}

TEST_F(ClientTest, HeadHasNoBody) {
  start();
  const Outcome out = run(request("/", Method::Head));
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.body, "");
  EXPECT_EQ(connections("idle"), 1);
}

TEST_F(ClientTest, SequentialRequestsShareOneConnection) {
  start();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(request()).body, "hello");
  EXPECT_EQ(opened(), 1);
  EXPECT_EQ(connections("idle"), 1);
  EXPECT_EQ(connections("active"), 0);
}

TEST_F(ClientTest, SendsSpansAsOneBody) {
  start();
  const std::array spans = {base::as_bytes("one "), base::as_bytes(""), base::as_bytes("two")};
  ClientRequest put = request("/echo", Method::Put);
  put.body = spans;
  EXPECT_EQ(run(put).body, "one two");
}

TEST_F(ClientTest, SendsManySpans) {
  start();
  std::vector<std::string> words;
  std::vector<base::ByteView> spans;
  std::string whole;
  for (int i = 0; i < 100; ++i) words.push_back(std::to_string(i) + " ");
  for (const std::string& word : words) {
    spans.push_back(base::as_bytes(word));
    whole += word;
  }
  ClientRequest put = request("/echo", Method::Put);
  put.body = spans;
  EXPECT_EQ(run(put).body, whole);
}

TEST_F(ClientTest, SendsASourceWithItsLength) {
  start();
  ListSource source({"abc", "def"});
  ClientRequest put = request("/echo", Method::Put);
  put.source = &source;
  put.source_bytes = 6;
  EXPECT_EQ(run(put).body, "abcdef");
  EXPECT_EQ(connections("idle"), 1);
}

TEST_F(ClientTest, SendsASourceWithoutLengthChunked) {
  start();
  ListSource source({"abc", std::string(5000, 'x'), "def"});
  ClientRequest put = request("/echo", Method::Put);
  put.source = &source;
  EXPECT_EQ(run(put).body, "abc" + std::string(5000, 'x') + "def");
  EXPECT_EQ(connections("idle"), 1);
}

TEST_F(ClientTest, ASourceThatFailsEndsTheRequestWithItsError) {
  start();
  ListSource source({"abc", "fail"});
  ClientRequest put = request("/echo", Method::Put);
  put.source = &source;
  EXPECT_EQ(run(put).code(), Code::IntegrityFail);
  EXPECT_EQ(connections("idle"), 0);
}

TEST_F(ClientTest, ASourceOfTheWrongLengthIsNotSent) {
  start();
  for (const std::uint64_t announced : {5U, 7U}) {
    ListSource source({"abc", "def"});
    ClientRequest put = request("/echo", Method::Put);
    put.source = &source;
    put.source_bytes = announced;
    EXPECT_EQ(run(put).code(), Code::Internal) << announced;
  }
  EXPECT_EQ(connections("idle"), 0);
}

TEST_F(ClientTest, WaitsForContinueBeforeTheBody) {
  start();
  const std::array spans = {base::as_bytes("body")};
  ClientRequest put = request("/echo", Method::Put);
  put.body = spans;
  put.expect_continue = true;
  const Outcome out = run(put);
  EXPECT_EQ(out.body, "body");
  // Handshake, head and interim answer, body and answer: three round trips and no waiting.
  EXPECT_EQ(out.at, 6 * kTrip);
}

TEST_F(ClientTest, ARefusalInsteadOfContinueSparesTheBody) {
  start();
  const std::array spans = {base::as_bytes("body")};
  ClientRequest post = request("/refuse", Method::Post);
  post.body = spans;
  post.expect_continue = true;
  const Outcome out = run(post);
  EXPECT_EQ(out.status, 403);
  EXPECT_EQ(out.body, "no");
  EXPECT_EQ(connections("idle"), 0);
}

TEST_F(ClientTest, AnEarlyRefusalIsHeardWhileTheBodyIsSent) {
  start();
  const std::string large(4 * base::kMiB, 'x');
  const std::array spans = {base::as_bytes(large)};
  ClientRequest post = request("/refuse", Method::Post);
  post.body = spans;
  const Outcome out = run(post);
  EXPECT_EQ(out.status, 413);
  EXPECT_EQ(connections("idle"), 0);
  EXPECT_LT(out.at, 1s);
}

TEST_F(ClientTest, ARequestThatCannotBeWrittenIsMalformed) {
  start();
  const std::array bad = {Field{"X-Evil", "a\r\nInjected: b"}};
  const std::array framing = {Field{"Content-Length", "5"}};
  const std::array expect = {Field{"Expect", "100-continue"}};
  for (const auto& fields : {bad, framing, expect}) {
    ClientRequest get = request();
    get.fields = fields;
    EXPECT_EQ(run(get).code(), Code::Malformed) << fields[0].name;
  }
  EXPECT_EQ(run(request("/a b")).code(), Code::Malformed);
  EXPECT_EQ(run(request("/", Method::Other)).code(), Code::Malformed);
  EXPECT_EQ(opened(), 0);
}

TEST_F(ClientTest, AHeadThatDoesNotFitIsTooLarge) {
  start();
  const std::string huge(20'000, 'x');
  const std::array large = {Field{"X-Large", huge}};
  ClientRequest get = request();
  get.fields = large;
  EXPECT_EQ(run(get).code(), Code::HeadTooLarge);
  EXPECT_EQ(opened(), 0);
}

TEST_F(ClientTest, ABodyOverTheCallersCapIsRefused) {
  start();
  struct Small {
    static Task<void> fetch(Client* client, ClientRequest what, std::optional<Code>* code) {
      base::Result<ClientResponse> response = co_await client->send(what, Deadline());
      const base::Result<base::Buffer> body = co_await response->read_all(4);
      if (!body) *code = body.error().code;
    }
  };
  std::optional<Code> code;
  const Root running(peer_.core(), Small::fetch(&*client_, request(), &code));
  world_.run_for(1s);
  EXPECT_EQ(code, Code::UpstreamFail);
  EXPECT_EQ(connections("idle") + connections("active"), 0);
}

TEST_F(ClientTest, AnUnreadBodyCostsTheConnection) {
  start();
  struct Half {
    static Task<void> fetch(Client* client, ClientRequest what, bool* done) {
      const base::Result<ClientResponse> response = co_await client->send(what, Deadline());
      *done = response.has_value() && !response->finished();
    }
  };
  bool done = false;
  const Root running(peer_.core(), Half::fetch(&*client_, request(), &done));
  world_.run_for(1s);
  EXPECT_TRUE(done);
  EXPECT_EQ(connections("idle") + connections("active"), 0);
}

// What a proxy does: the body of one answer is the body of the next request, piece by piece.
TEST_F(ClientTest, AnAnswersBodyIsASourceForAnotherRequest) {
  start();
  struct Forward {
    static Task<void> run(Client* client, ClientRequest from, ClientRequest to, Outcome* out) {
      base::Result<ClientResponse> response = co_await client->send(from, Deadline());
      to.source_bytes = response->head().content_length;
      UpstreamBody body(std::move(*response));
      to.source = &body;
      co_await fetch(client, to, Deadline(), out);
    }
  };
  Outcome out;
  const Root running(peer_.core(),
                     Forward::run(&*client_, request(), request("/echo", Method::Put), &out));
  world_.run_for(1s);
  EXPECT_EQ(out.body, "hello");
  EXPECT_EQ(connections("active"), 0);
}

TEST_F(ClientTest, AbortingARequestClosesItsConnection) {
  start();
  Outcome out;
  auto running = begin(request("/slow"), out);
  world_.run_for(1s);
  EXPECT_EQ(connections("active"), 1);
  running.reset();
  EXPECT_EQ(connections("active"), 0);
  EXPECT_EQ(run(request()).status, 200);
  EXPECT_EQ(opened(), 2);
}

TEST_F(ClientTest, ARefusedConnectionIsUpstreamFail) {
  start();
  ClientRequest nowhere = request();
  nowhere.endpoint.port = 81;
  EXPECT_EQ(run(nowhere).code(), Code::UpstreamFail);
  EXPECT_EQ(errors("connect"), 1);
}

TEST_F(ClientTest, ConnectingTimesOutExactly) {
  start({.connect_timeout = 300ms});
  world_.network().partition(node_.id(), peer_.id());
  const Outcome out = run(request());
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_EQ(out.at, 300ms);
  EXPECT_EQ(reading(meters_, "io_timeouts_total", "connect"), 1);
  EXPECT_EQ(errors("timeout"), 1);
}

TEST_F(ClientTest, APartitionEndsInTimeoutAtTheDeadlineExactly) {
  start();
  EXPECT_EQ(run(request()).status, 200);
  world_.network().partition(node_.id(), peer_.id());
  const base::Duration begun = now();
  const Outcome out = run(request(), 500ms);
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_EQ(out.at - begun, 500ms);
  EXPECT_EQ(reading(meters_, "io_timeouts_total", "read"), 1);
  EXPECT_EQ(connections("idle") + connections("active"), 0);
}

TEST_F(ClientTest, ARequestPastItsDeadlineIsNotSent) {
  start();
  EXPECT_EQ(run(request()).status, 200);
  SendProgress progress;
  ClientRequest late = request();
  late.progress = &progress;
  EXPECT_EQ(run(late, 0s).code(), Code::Timeout);
  EXPECT_FALSE(progress.sent);
  EXPECT_EQ(connections("idle"), 1);
}

TEST_F(ClientTest, ASlowAnswerTimesOutAtTheReadTimeout) {
  start({.read_timeout = 2s});
  const Outcome out = run(request("/slow"));
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_EQ(out.at, 2 * kTrip + 2s);
}

TEST_F(ClientTest, AnUpstreamThatTakesNothingTimesOutAtTheWriteTimeout) {
  start({.write_timeout = 3s});
  EXPECT_EQ(run(request()).status, 200);
  world_.network().partition(node_.id(), peer_.id());
  const std::string large(600 * base::kKiB, 'x');
  const std::array spans = {base::as_bytes(large)};
  ClientRequest put = request("/echo", Method::Put);
  put.body = spans;
  const base::Duration begun = now();
  const Outcome out = run(put);
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_EQ(out.at - begun, 3s);
  EXPECT_EQ(reading(meters_, "io_timeouts_total", "write"), 1);
}

TEST_F(ClientTest, AResetWhileWaitingIsUpstreamFail) {
  start();
  Outcome out;
  const auto running = begin(request("/slow"), out);
  world_.run_for(1s);
  world_.network().reset_connections(node_.id(), peer_.id());
  world_.run_for(1s);
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_EQ(errors("closed"), 1);
}

// Whatever the network does, a request ends with an answer that is right or with an error, by its
// deadline, and nothing leaks.
TEST(Client, SurvivesARoughNetwork) {
  std::size_t answered = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    sim::FaultPlan faults = sim::FaultPlan::rough();
    faults.reset_segment = 20'000;
    sim::World world(seed, {.faults = faults});
    sim::Node& node = world.add_node();
    sim::Node& peer = world.add_node();
    TestServer server(world, node);
    server.add(Method::Put, "/echo", echo);
    const platform::Endpoint endpoint = server.start();
    runtime::Meters meters("svc-client");
    Client client(peer.net(), {.max_connections = 3, .connect_timeout = 5s}, meters);
    const std::string body(20'000, static_cast<char>('a' + seed % 26));
    const std::array spans = {base::as_bytes(body)};
    const ClientRequest put{
        .endpoint = endpoint, .method = Method::Put, .target = "/echo", .body = spans};
    std::array<Outcome, 20> outs;
    std::vector<std::unique_ptr<Root>> running;
    for (Outcome& out : outs) {
      running.push_back(std::make_unique<Root>(
          peer.core(), fetch(&client, put, Deadline(world.now() + 20s), &out)));
    }
    world.run_for(20s);
    for (const Outcome& out : outs) {
      EXPECT_TRUE(out.done);
      EXPECT_LE(out.at, 20s);
      if (out.error) continue;
      ++answered;
      EXPECT_EQ(out.status, 200);
      EXPECT_EQ(out.body, body);
    }
    EXPECT_EQ(reading(meters, "http_client_connections", "active"), 0);
  }
  EXPECT_GT(answered, 600U);
}

// The same code on the real machine: sockets, the epoll loop and the kernel's timing.
Task<void> talk_to_itself(platform::Host host, std::size_t* answered) {
  runtime::Meters meters("svc-test");
  const ServerSettings settings = test_settings();
  Router router(meters);
  router.add({Method::Put, "/echo", auth::Access::open(), echo});
  Ingress ingress(meters, settings,
                  [](Request&, const Route&) -> base::Result<void> { return {}; });
  Server server({host, &router, &ingress, &meters, {}},
                std::make_shared<const ServerSettings>(settings));
  const auto bound = co_await server.bind(platform::Endpoint::loopback(0));
  runtime::Shutdown shutdown;
  runtime::TaskMeters tasks(meters, "test");
  runtime::TaskGroup group(tasks);
  group.spawn(server.run(0, shutdown));
  Client client(host.net, {}, meters);
  const std::string body(50'000, 'r');
  const std::array spans = {base::as_bytes(body)};
  for (int i = 0; i < 20; ++i) {
    Outcome out;
    const ClientRequest put{.endpoint = *bound,
                            .method = Method::Put,
                            .target = "/echo",
                            .body = spans,
                            .expect_continue = i % 2 == 0};
    co_await fetch(&client, put, Deadline::in(10s), &out);
    *answered += out.status == 200 && out.body == body ? 1 : 0;
  }
  EXPECT_EQ(reading(meters, "http_connections_total"), 1);
  const std::size_t cut = co_await client.close(Deadline::in(1s));
  EXPECT_EQ(cut, 0U);
  shutdown.trigger(runtime::StopReason::Signal);
  const bool joined = co_await group.join(Deadline::in(5s));
  EXPECT_TRUE(joined);
}

TEST(Client, TalksToOurServerOverRealSockets) {
  platform::posix::PosixHost machine({.cores = 1, .blocking_threads = 1});
  std::size_t answered = 0;
  std::vector<Task<void>> tasks;
  tasks.push_back(talk_to_itself(machine.host(), &answered));
  EXPECT_TRUE(platform::test::run_tasks(machine, std::move(tasks)));
  EXPECT_EQ(answered, 20U);
}

}  // namespace
}  // namespace ron::http
