#include "http/client_response.h"

#include <string>
#include <vector>

#include "http/client.h"
#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;
using base::Code;
using runtime::Deadline;

// What an upstream does with one request: it says `text`, a part every `pace`, and then maybe ends.
struct Act {
  enum class Then { Stay, Close };
  std::string text;
  Then then = Then::Stay;
  std::size_t part = SIZE_MAX;
  base::Duration pace{};
};

// An upstream that answers the n-th request with the n-th act, whatever was asked.
class Upstream {
 public:
  Upstream(sim::Node& node, std::vector<Act> acts)
      : acts_(std::move(acts)), run_(node.core(), serve(this, &node.net(), node.endpoint(80))) {}

  std::string requests;
  std::size_t accepted = 0;

 private:
  static Task<void> serve(Upstream* self, platform::Net* net, platform::Endpoint at) {
    auto listener = net->listen(at);
    std::size_t next = 0;
    while (next < self->acts_.size()) {
      std::unique_ptr<platform::Stream> stream = co_await platform::test::accept(listener->get());
      ++self->accepted;
      bool open = true;
      for (; open && next < self->acts_.size(); ++next) {
        const bool asked = co_await hear(self, stream.get());
        if (!asked) break;
        co_await perform(&self->acts_[next], stream.get());
        open = self->acts_[next].then == Act::Then::Stay;
      }
      if (open) self->kept_.push_back(std::move(stream));
    }
    co_await runtime::sleep_until(Deadline());
  }
  static Task<bool> hear(Upstream* self, platform::Stream* stream) {
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
      const auto read = co_await platform::test::read_up_to(stream, 1);
      if (read.text.empty()) co_return false;
      head += read.text;
    }
    self->requests += head;
    co_return true;
  }
  static Task<void> perform(const Act* act, platform::Stream* stream) {
    for (std::size_t at = 0; at < act->text.size(); at += std::min(act->part, act->text.size())) {
      if (at > 0) co_await runtime::sleep_for(act->pace);
      co_await platform::test::write_all(stream, act->text.substr(at, act->part));
    }
  }

  std::vector<Act> acts_;
  std::vector<std::unique_ptr<platform::Stream>> kept_;
  Root run_;
};

struct Outcome {
  bool done = false;
  int status = 0;
  std::string body;
  std::string field;
  std::size_t pieces = 0;
  std::optional<Code> code;
  base::Duration at{};
};

Task<void> fetch(Client* client, ClientRequest request, Deadline deadline, Outcome* out) {
  base::Result<ClientResponse> response = co_await client->send(request, deadline);
  if (!response) out->code = response.error().code;
  if (response) out->status = response->status();
  while (response && !out->code) {
    const base::Result<base::ByteView> piece = co_await response->next();
    if (!piece) out->code = piece.error().code;
    if (!piece || piece->empty()) break;
    out->body += base::as_text(*piece);
    ++out->pieces;
  }
  if (response) out->field = response->head().find("X-Field").value_or("");
  out->at = since_start(platform::Executor::current()->now());
  out->done = true;
}

struct Reused {
  bool done = false;
  bool same_memory = false;
  std::string body;
};

Task<void> read_into_spare(Client* client, ClientRequest request, std::size_t spare_bytes,
                           Reused* out) {
  base::Result<ClientResponse> response = co_await client->send(request, Deadline());
  base::Buffer spare(spare_bytes);
  const std::byte* const memory = spare.data();
  const auto body = co_await response->read_all(100, std::move(spare));
  out->same_memory = body->data() == memory;
  out->body = base::as_text(body->view());
  out->done = true;
}

class ClientResponseTest : public testing::Test {
 protected:
  void upstream(std::vector<Act> acts, ClientSettings settings = {}) {
    upstream_.emplace(node_, std::move(acts));
    world_.run_for(0ms);
    client_.emplace(peer_.net(), settings, meters_);
  }
  Outcome run(Method method = Method::Get, base::Duration within = 60s) {
    return run({.endpoint = node_.endpoint(80), .method = method}, within);
  }
  Outcome run(ClientRequest request, base::Duration within = 60s) {
    Outcome out;
    const Root running(peer_.core(),
                       fetch(&*client_, request, Deadline(world_.now() + within), &out));
    EXPECT_EQ(world_.run_until([&] { return out.done; }, 600s), sim::Outcome::Done);
    return out;
  }
  Reused run_with_spare(std::size_t spare_bytes) {
    Reused out;
    const Root running(peer_.core(), read_into_spare(&*client_, {.endpoint = node_.endpoint(80)},
                                                     spare_bytes, &out));
    EXPECT_EQ(world_.run_until([&] { return out.done; }, 600s), sim::Outcome::Done);
    return out;
  }
  Outcome answered(std::string text, Act::Then then = Act::Then::Stay) {
    upstream({{std::move(text), then}});
    return run();
  }
  [[nodiscard]] std::int64_t kept() const {
    return reading(meters_, "http_client_connections", "idle");
  }
  [[nodiscard]] std::int64_t errors(std::string_view kind) const {
    return reading(meters_, "upstream_errors_total", kind);
  }

  runtime::Meters meters_{"svc-client"};
  sim::World world_{3, exact_world()};
  sim::Node& node_ = world_.add_node();
  sim::Node& peer_ = world_.add_node();
  std::optional<Upstream> upstream_;
  std::optional<Client> client_;
};

TEST_F(ClientResponseTest, ReadsABodyByItsLength) {
  const Outcome out = answered("HTTP/1.1 200 OK\r\nX-Field: v\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(out.body, "hello");
  EXPECT_EQ(out.field, "v");
  EXPECT_EQ(kept(), 1);
}

TEST_F(ClientResponseTest, ABodyGoesIntoSpareMemoryThatSuffices) {
  const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  upstream({{text}, {text}, {text}});
  for (const std::size_t spare_bytes : {5, 9, 4}) {
    const Reused out = run_with_spare(spare_bytes);
    EXPECT_EQ(out.body, "hello");
    EXPECT_EQ(out.same_memory, spare_bytes >= 5) << spare_bytes;
  }
}

TEST_F(ClientResponseTest, ReadsAChunkedBody) {
  const Outcome out = answered(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n "
      "world\r\n0\r\n\r\n");
  EXPECT_EQ(out.body, "hello world");
  EXPECT_EQ(out.pieces, 1U) << "chunks that came together are one piece";
  EXPECT_EQ(kept(), 1);
}

TEST_F(ClientResponseTest, ReadsABodyUntilTheConnectionCloses) {
  const Outcome out = answered("HTTP/1.1 200 OK\r\n\r\nhello", Act::Then::Close);
  EXPECT_EQ(out.body, "hello");
  EXPECT_FALSE(out.code);
  EXPECT_EQ(kept(), 0);
}

TEST_F(ClientResponseTest, ABodyUntilCloseThatIsResetIsAnError) {
  upstream({{"HTTP/1.1 200 OK\r\n\r\nhello"}});
  Outcome out;
  const Root running(peer_.core(),
                     fetch(&*client_, {.endpoint = node_.endpoint(80)}, Deadline(), &out));
  world_.run_for(1s);
  world_.network().reset_connections(node_.id(), peer_.id());
  world_.run_for(1s);
  EXPECT_EQ(out.body, "hello");
  EXPECT_EQ(out.code, Code::UpstreamFail);
}

TEST_F(ClientResponseTest, ABodyThatEndsEarlyIsAnError) {
  const Outcome out =
      answered("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", Act::Then::Close);
  EXPECT_EQ(out.code, Code::UpstreamFail);
  EXPECT_EQ(errors("closed"), 1);
}

TEST_F(ClientResponseTest, AChunkedBodyThatEndsEarlyIsAnError) {
  const Outcome out = answered(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Act::Then::Close);
  EXPECT_EQ(out.code, Code::UpstreamFail);
}

TEST_F(ClientResponseTest, ABrokenChunkIsAnError) {
  const Outcome out =
      answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n");
  EXPECT_EQ(out.code, Code::UpstreamFail);
  EXPECT_EQ(errors("malformed"), 1);
  EXPECT_EQ(kept(), 0);
}

TEST_F(ClientResponseTest, BytesBehindTheBodyCostTheConnection) {
  const Outcome out = answered(
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: "
      "4\r\n\r\nevil");
  EXPECT_EQ(out.body, "hello");
  EXPECT_EQ(kept(), 0);
}

TEST_F(ClientResponseTest, ConnectionCloseIsHonoured) {
  const Outcome out =
      answered("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
  EXPECT_EQ(out.body, "hello");
  EXPECT_EQ(kept(), 0);
}

TEST_F(ClientResponseTest, AnswersThatAreNotStrictHttpAreRefused) {
  for (const std::string_view text : {
           "SSH-2.0-OpenSSH\r\n\r\n",
           "HTTP/2.0 200 OK\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
           "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
           "HTTP/1.1 101 Switching Protocols\r\n\r\n",
       }) {
    sim::World world(3, exact_world());
    sim::Node& node = world.add_node();
    sim::Node& peer = world.add_node();
    const Upstream server(node, {{std::string(text)}});
    world.run_for(0ms);
    runtime::Meters meters("svc-client");
    Client client(peer.net(), {}, meters);
    Outcome out;
    const Root running(peer.core(),
                       fetch(&client, {.endpoint = node.endpoint(80)}, Deadline(), &out));
    world.run_for(1s);
    EXPECT_EQ(out.code, Code::UpstreamFail) << text;
    EXPECT_EQ(reading(meters, "upstream_errors_total", "malformed"), 1) << text;
    EXPECT_EQ(reading(meters, "http_client_connections"), 0) << text;
  }
}

TEST_F(ClientResponseTest, AHeadWithoutEndIsRefused) {
  const Outcome out = answered("HTTP/1.1 200 OK\r\nX-Long: " + std::string(20'000, 'x'));
  EXPECT_EQ(out.code, Code::UpstreamFail);
  EXPECT_EQ(errors("malformed"), 1);
}

TEST_F(ClientResponseTest, InterimAnswersAreSkipped) {
  const Outcome out = answered(
      "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.body, "ok");
  EXPECT_EQ(kept(), 1);
}

TEST_F(ClientResponseTest, EndlessInterimAnswersAreRefused) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "HTTP/1.1 103 Early Hints\r\n\r\n";
  EXPECT_EQ(answered(text).code, Code::UpstreamFail);
}

TEST_F(ClientResponseTest, AnAnswerInSmallPartsIsPutTogether) {
  upstream({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
             Act::Then::Stay, 1, 10ms}});
  EXPECT_EQ(run().body, "hello");
  EXPECT_EQ(kept(), 1);
}

TEST_F(ClientResponseTest, AHeadMustComeWithinTheReadTimeoutHoweverItDribbles) {
  upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Act::Then::Stay, 1, 900ms}},
           {.read_timeout = 3s});
  const Outcome out = run();
  EXPECT_EQ(out.code, Code::Timeout);
  EXPECT_EQ(out.at, 2 * kTrip + 3s);
}

TEST_F(ClientResponseTest, ABodyMayTakeLongAsLongAsItMoves) {
  upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n" + std::string(60, 'x'),
             Act::Then::Stay, 20, 2s}},
           {.read_timeout = 3s});
  EXPECT_EQ(run().body.size(), 60U);
}

TEST_F(ClientResponseTest, ABodyThatStallsTimesOut) {
  upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello"}}, {.read_timeout = 3s});
  const Outcome out = run();
  EXPECT_EQ(out.body, "hello");
  EXPECT_EQ(out.code, Code::Timeout);
  EXPECT_EQ(out.at, 4 * kTrip + 3s);
}

TEST_F(ClientResponseTest, TheDeadlineHoldsForTheBody) {
  upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x'),
             Act::Then::Stay, 50, 1s}});
  const Outcome out = run(Method::Get, 500ms);
  EXPECT_EQ(out.code, Code::Timeout);
  EXPECT_EQ(out.at, 500ms);
}

TEST_F(ClientResponseTest, ASilentUpstreamGetsTheBodyAfterTheContinueTimeout) {
  upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Act::Then::Stay, 1, 100ms}},
           {.continue_timeout = 2s});
  const std::array spans = {base::as_bytes("body")};
  const Outcome out = run({.endpoint = node_.endpoint(80),
                           .method = Method::Put,
                           .body = spans,
                           .expect_continue = true});
  EXPECT_EQ(out.body, "ok");
  EXPECT_NE(upstream_->requests.find("Expect: 100-continue\r\n"), std::string::npos);
}

TEST_F(ClientResponseTest, RequestsCarryHostFieldsAndFraming) {
  upstream({{"HTTP/1.1 204 No Content\r\n\r\n"}, {"HTTP/1.1 204 No Content\r\n\r\n"}});
  const std::array fields = {Field{"X-One", "1"}};
  run({.endpoint = node_.endpoint(80), .target = "/a?b=c", .fields = fields});
  EXPECT_EQ(upstream_->requests, "GET /a?b=c HTTP/1.1\r\nHost: 10.0.0.1:80\r\nX-One: 1\r\n\r\n");
  upstream_->requests.clear();
  run({.endpoint = node_.endpoint(80), .method = Method::Post, .host = "name"});
  EXPECT_EQ(upstream_->requests, "POST / HTTP/1.1\r\nHost: name\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(upstream_->accepted, 1U);
}

// A byte of an answer makes the difference: the upstream has seen the request.
TEST_F(ClientResponseTest, NothingIsRepeatedOnceAnAnswerHasBegun) {
  upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
            {"HTTP/1.1 2", Act::Then::Close},
            {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain"}});
  EXPECT_EQ(run().body, "ok");
  EXPECT_EQ(run().code, Code::UpstreamFail);
  EXPECT_EQ(reading(meters_, "upstream_stale_retries_total"), 0);
}

TEST_F(ClientResponseTest, AKeptConnectionThatEndsUnheardIsReplaced) {
  upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
            {"", Act::Then::Close},
            {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain"}});
  EXPECT_EQ(run().body, "ok");
  EXPECT_EQ(run().body, "again");
  EXPECT_EQ(upstream_->accepted, 2U);
}

TEST_F(ClientResponseTest, AFreshConnectionThatEndsUnheardIsAnError) {
  upstream({{"", Act::Then::Close}, {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}});
  EXPECT_EQ(run().code, Code::UpstreamFail);
  EXPECT_EQ(upstream_->accepted, 1U);
}

TEST_F(ClientResponseTest, ARequestIsRepeatedAtMostOnce) {
  upstream({{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
            {"", Act::Then::Close},
            {"", Act::Then::Close},
            {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}});
  EXPECT_EQ(run().body, "ok");
  EXPECT_EQ(run().code, Code::UpstreamFail);
  EXPECT_EQ(upstream_->accepted, 2U);
  EXPECT_EQ(errors("closed"), 1);
}

}  // namespace
}  // namespace ron::http
