// Requests to hosts by name: our client against our server, in a simulated world.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "http/client_test_support.h"
#include "platform/test_tls.h"

namespace ron::http::test {
namespace {

constexpr const char* kName = "storage.example";

class ClientNameTest : public ClientTest {
 protected:
  void start_named(std::vector<platform::Endpoint> addresses, ClientSettings settings = {}) {
    settings.resolver = &peer_.resolver();
    start(std::move(settings));
    peer_.resolver().set(kName, std::move(addresses));
  }
  ClientRequest named(std::string_view target = "/") const {
    return {.name = kName, .port = 80, .target = target};
  }
  // Refuses connections: nobody listens there.
  [[nodiscard]] platform::Endpoint dead() const { return peer_.endpoint(80); }
  // Swallows them: a machine that is cut off.
  platform::Endpoint silent() {
    sim::Node& far = world_.add_node();
    world_.network().partition(peer_.id(), far.id());
    return far.endpoint(80);
  }
};

TEST_F(ClientNameTest, AHostIsFoundAndItsConnectionKept) {
  start_named({node_.endpoint(80)});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(named()).body, "hello");
  EXPECT_EQ(opened(), 1);
}

TEST_F(ClientNameTest, AnUnknownHostIsUpstreamFail) {
  start_named({});
  const Outcome out = run(named());
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_THAT(out.error->message, testing::HasSubstr(kName));
  EXPECT_EQ(errors("resolve"), 1);
}

TEST_F(ClientNameTest, AClientWithoutANameServiceRefuses) {
  start();
  EXPECT_EQ(run(named()).code(), Code::Malformed);
}

TEST_F(ClientNameTest, TheNextAddressIsTriedWhenOneRefuses) {
  start_named({dead(), node_.endpoint(80)});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run(named()).status, 200);
  EXPECT_EQ(errors("connect"), 1) << "the dead one was tried again";
}

TEST_F(ClientNameTest, TheNextAddressIsTriedWhenOneIsSilentForItsShare) {
  start_named({silent(), node_.endpoint(80)}, {.connect_timeout = 1s});
  const Outcome out = run(named());
  EXPECT_EQ(out.status, 200);
  EXPECT_GE(out.at, 500ms);
  EXPECT_LT(out.at, 600ms);
}

TEST_F(ClientNameTest, WhereNoAddressConnectsTheTimeoutHoldsForAllTogether) {
  start_named({silent(), silent(), silent()}, {.connect_timeout = 900ms});
  const Outcome out = run(named());
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_GE(out.at, 900ms);
  EXPECT_LT(out.at, 910ms);
}

TEST_F(ClientNameTest, TheDeadlineEndsTheTrying) {
  start_named({silent(), silent()}, {.connect_timeout = 2s});
  const Outcome out = run(named(), 1500ms);
  EXPECT_EQ(out.code(), Code::Timeout);
  EXPECT_EQ(out.at, 1500ms);
}

TEST_F(ClientNameTest, RequestsAreSpreadOverTheAddresses) {
  sim::Node& other = world_.add_node();
  TestServer second(world_, other);
  second.get("/", hello);
  const platform::Endpoint second_at = second.start();
  start_named({node_.endpoint(80), second_at});
  for (int i = 0; i < 6; ++i) EXPECT_EQ(run(named()).status, 200);
  EXPECT_EQ(opened(), 1);
  EXPECT_EQ(reading(second.meters, "http_connections_total"), 1);
}

// Whoever has no time to connect finds out nothing about an address.
TEST_F(ClientNameTest, ADeadlineThatIsTooShortToConnectIsNotTheAddresssFault) {
  sim::Node& other = world_.add_node();
  TestServer second(world_, other);
  second.get("/", hello);
  const platform::Endpoint second_at = second.start();
  start_named({node_.endpoint(80), second_at}, {.max_idle = 0});
  EXPECT_EQ(run(named(), kTrip).code(), Code::Timeout);
  world_.run_for(10ms);
  const std::int64_t first_before = counted("http_connections_total");
  const std::int64_t second_before = reading(second.meters, "http_connections_total");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(run(named()).status, 200);
  EXPECT_EQ(counted("http_connections_total") - first_before, 3);
  EXPECT_EQ(reading(second.meters, "http_connections_total") - second_before, 3);
}

// Nothing was sent to the address that did not connect: any request may go to the next.
TEST_F(ClientNameTest, ARequestThatIsNotIdempotentGoesToTheNextAddressToo) {
  start_named({dead(), node_.endpoint(80)});
  ClientRequest post = named("/echo");
  post.method = Method::Post;
  const std::array spans = {base::as_bytes("body")};
  post.body = spans;
  EXPECT_EQ(run(post).body, "body");
}

TEST_F(ClientNameTest, AddressesThatMayNotBeUsedAreNotConnectedTo) {
  start_named({node_.endpoint(80)},
              {.allow_address = [](const platform::Endpoint& each) { return each.port != 80; }});
  EXPECT_EQ(run(named()).code(), Code::NotAllowed);
  EXPECT_EQ(run(request()).code(), Code::NotAllowed);
  ClientRequest literal = named();
  literal.name = "10.0.0.1";
  EXPECT_EQ(run(literal).code(), Code::NotAllowed);
  EXPECT_EQ(opened(), 0);
}

TEST_F(ClientNameTest, NothingOfARequestThatDidNotConnectWasSent) {
  start_named({dead()});
  SendProgress progress;
  ClientRequest post = named("/echo");
  post.method = Method::Post;
  post.progress = &progress;
  EXPECT_EQ(run(post).code(), Code::UpstreamFail);
  EXPECT_FALSE(progress.sent);
  EXPECT_TRUE(progress.repeatable(post.idempotent()));
}

TEST_F(ClientNameTest, ProgressTellsHowFarARequestGot) {
  start_named({node_.endpoint(80)});
  SendProgress progress;
  ClientRequest slow = named("/slow");
  slow.progress = &progress;
  Outcome out;
  const auto running = begin(slow, out);
  world_.run_for(1s);
  EXPECT_TRUE(progress.sent);
  EXPECT_FALSE(progress.answered);
  EXPECT_TRUE(progress.repeatable(true));
  EXPECT_FALSE(progress.repeatable(false));
  world_.run_for(20s);
  EXPECT_TRUE(out.done && progress.answered);
}

TEST_F(ClientNameTest, CloseEndsALookUp) {
  start_named({node_.endpoint(80)});
  Outcome out;
  const auto running = begin(named(), out);
  world_.run_for(0ms);
  EXPECT_EQ(close(60s), 0U);
  EXPECT_EQ(out.code(), Code::Canceled);
}

TEST_F(ClientNameTest, ACertificateIsHeldAgainstTheName) {
  platform::test::TlsPair pair({.host = kName});
  start_named({dead(), node_.endpoint(80)}, {.tls = pair.client, .clock = &peer_.host().clock});
  struct Secure {
    static Task<void> apply(Server* server, std::shared_ptr<const platform::TlsServer> tls) {
      co_await server->apply(std::move(tls));
    }
  };
  const Root applying(node_.core(), Secure::apply(&server_->server, pair.server));
  world_.run_for(1ms);
  ClientRequest secured = named();
  secured.tls_host = kName;
  EXPECT_EQ(run(secured).body, "hello");
  secured.tls_host = "other.example";
  EXPECT_EQ(run(secured).code(), Code::UpstreamFail);
}

}  // namespace
}  // namespace ron::http::test
