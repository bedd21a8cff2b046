// The client and the server over TLS, in a simulated world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client_test_support.h"
#include "platform/test_tls.h"

namespace ron::http::test {
namespace {

class ClientTlsTest : public ClientTest {
 protected:
  void start_secured(bool trusts = true) {
    ClientSettings settings;
    if (trusts) settings.tls = pair_.client;
    settings.clock = &peer_.host().clock;
    start(settings);
    const Root applying(node_.core(), secure(&server_->server, pair_.server));
    EXPECT_EQ(world_.run_until([&] { return applying.done(); }, 1s), sim::Outcome::Done);
  }
  ClientRequest secured(std::string_view host = "localhost") const {
    ClientRequest what = request();
    what.tls_host = host;
    return what;
  }
  static Task<void> secure(Server* server, std::shared_ptr<const platform::TlsServer> tls) {
    co_await server->apply(std::move(tls));
  }

  platform::test::TlsPair pair_;
};

TEST_F(ClientTlsTest, RequestsShareAConnection) {
  start_secured();
  for (int i = 0; i < 3; ++i) {
    const Outcome out = run(secured());
    EXPECT_EQ(out.status, 200) << (out.error ? out.error->message : "");
  }
  EXPECT_EQ(opened(), 1);
}

TEST_F(ClientTlsTest, LargeBodiesGoBothWays) {
  start_secured();
  const std::string body(60'000, 'b');  // more than the stream takes at once
  const std::array spans = {base::as_bytes(body)};
  ClientRequest put = secured();
  put.method = Method::Put;
  put.target = "/echo";
  put.body = spans;
  const Outcome out = run(put);
  EXPECT_EQ(out.status, 200);
  EXPECT_TRUE(out.body == body);
}

TEST_F(ClientTlsTest, AnotherNameIsRefusedAndCounted) {
  start_secured();
  const Outcome out = run(secured("example.org"));
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_THAT(out.error->message, testing::HasSubstr("hostname mismatch"));
  EXPECT_EQ(errors("connect"), 1);
  world_.run_for(1s);
  EXPECT_EQ(counted("rejected_total", "tls"), 1);
}

TEST_F(ClientTlsTest, PlainAndSecuredConnectionsAreKeptApart) {
  start_secured();
  EXPECT_EQ(run(secured()).status, 200);
  const Outcome plain = run(request());
  EXPECT_EQ(plain.status, 400);
  EXPECT_THAT(plain.body, testing::HasSubstr("https"));
  EXPECT_EQ(run(secured()).status, 200);
}

TEST_F(ClientTlsTest, AClientWithoutTrustRefusesBeforeItConnects) {
  start_secured(false);
  EXPECT_EQ(run(secured()).code(), Code::Malformed);
  EXPECT_EQ(opened(), 0);
}

}  // namespace
}  // namespace ron::http::test
