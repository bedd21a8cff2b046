#include "platform/tls.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/contract_world.h"
#include "platform/test_tls.h"
#include "platform/tls_stream.h"

namespace ron::platform::test {
namespace {

constexpr std::int64_t kNow = 1'700'000'000;

// A simulated connection whose two ends try to agree.
class Tls : public testing::Test {
 protected:
  struct Agreement {
    base::Result<> server = base::fail(base::Code::Canceled, "never tried");
    base::Result<> client = base::fail(base::Code::Canceled, "never tried");
    bool resumed = false;
    std::string heard;  // by the client
  };

  Agreement meet(const std::shared_ptr<const TlsServer>& server,
                 const std::shared_ptr<const TlsClient>& client, std::string host = "localhost",
                 std::int64_t now_unix_s = kNow) {
    Agreement agreement;
    SimContractWorld world(1, {});
    Event listening;
    Endpoint where = world.address(443);
    EXPECT_TRUE(world.run(
        serve(world.server(), where, server, &listening, &agreement),
        call(world.client(), where, client, std::move(host), now_unix_s, &listening, &agreement)));
    return agreement;
  }

  static Task<void> serve(Host host, Endpoint where, std::shared_ptr<const TlsServer> with,
                          Event* listening, Agreement* out) {
    auto listener = host.net.listen(where);
    listening->set();
    std::unique_ptr<Stream> stream = co_await accept(listener->get());
    stream = with->secure(std::move(stream));
    out->server = co_await stream->handshake(Executor::current()->now() + std::chrono::seconds(5));
    if (out->server) co_await write_all(stream.get(), "hello");
    stream->shutdown_write();
    co_await read_up_to(stream.get(), 1);
  }

  static Task<void> call(Host host, Endpoint where, std::shared_ptr<const TlsClient> with,
                         std::string name, std::int64_t now_unix_s, Event* listening,
                         Agreement* out) {
    co_await listening->wait();
    auto stream = host.net.connect(where);
    co_await established(stream->get());
    if (with == nullptr) {  // says nothing at all
      const ReadText read = co_await read_up_to(stream->get(), 100);
      out->heard = read.text;
      co_return;
    }
    stream = with->secure(std::move(*stream), std::move(name), now_unix_s);
    out->client =
        co_await (*stream)->handshake(Executor::current()->now() + std::chrono::seconds(5));
    if (!out->client) co_return;
    const ReadText read = co_await read_up_to(stream->get(), 100);
    out->heard = read.text;
    out->resumed = dynamic_cast<TlsStream&>(**stream).resumed();
    (*stream)->shutdown_write();
  }
};

TEST_F(Tls, BothSidesAgree) {
  const TlsPair pair;
  const Agreement agreement = meet(pair.server, pair.client);
  EXPECT_TRUE(agreement.server.has_value());
  EXPECT_TRUE(agreement.client.has_value());
  EXPECT_EQ(agreement.heard, "hello");
  EXPECT_FALSE(agreement.resumed);
}

TEST_F(Tls, AnAddressIsLookedForAmongTheCertificatesAddresses) {
  const TlsPair pair({.host = "10.0.0.1"});
  EXPECT_TRUE(meet(pair.server, pair.client, "10.0.0.1").client.has_value());
  EXPECT_FALSE(meet(pair.server, pair.client, "10.0.0.2").client.has_value());
}

TEST_F(Tls, AnotherNameIsRefused) {
  const TlsPair pair;
  const Agreement agreement = meet(pair.server, pair.client, "example.org");
  ASSERT_FALSE(agreement.client.has_value());
  EXPECT_EQ(agreement.client.error().code, base::Code::UpstreamFail);
  EXPECT_THAT(agreement.client.error().message, testing::HasSubstr("hostname mismatch"));
}

TEST_F(Tls, ACertificateNobodyTrustsIsRefused) {
  const TlsPair pair;
  const TlsPair other;
  const Agreement agreement = meet(pair.server, other.client);
  ASSERT_FALSE(agreement.client.has_value());
  EXPECT_THAT(agreement.client.error().message, testing::HasSubstr("certificate"));
}

TEST_F(Tls, TheCallersClockDecidesWhetherACertificateIsGood) {
  const TlsPair pair({.until_unix_s = kNow});
  const Agreement late = meet(pair.server, pair.client, "localhost", kNow + 1);
  ASSERT_FALSE(late.client.has_value());
  EXPECT_THAT(late.client.error().message, testing::HasSubstr("expired"));
  EXPECT_TRUE(meet(pair.server, pair.client, "localhost", kNow - 1).client.has_value());
  EXPECT_EQ(pair.server->expires_unix_s(), kNow);
}

TEST_F(Tls, ASecondConnectionResumesTheSessionOfTheFirst) {
  const TlsPair pair;
  EXPECT_FALSE(meet(pair.server, pair.client).resumed);
  EXPECT_TRUE(meet(pair.server, pair.client).resumed);
}

TEST_F(Tls, ARenewedCertificateTakesUpOldSessions) {
  const TlsPair pair;
  ASSERT_TRUE(meet(pair.server, pair.client).client.has_value());
  const TlsIdentity renewed = make_identity({});
  const auto next = TlsServer::make(renewed, pair.server.get());
  ASSERT_TRUE(next.has_value());
  EXPECT_TRUE(meet(*next, pair.client).resumed);
  // Without the old one's keys the new certificate counts, and nobody vouches for it.
  EXPECT_FALSE(meet(*TlsServer::make(renewed), pair.client).client.has_value());
}

TEST_F(Tls, ASilentClientIsCutOffInTime) {
  const TlsPair pair;
  const Agreement agreement = meet(pair.server, nullptr);
  ASSERT_FALSE(agreement.server.has_value());
  EXPECT_EQ(agreement.server.error().code, base::Code::Timeout);
}

TEST(TlsServer, AKeyThatIsNotTheCertificatesIsRefused) {
  TlsIdentity mixed = make_identity({});
  mixed.key = make_identity({}).key;
  const auto made = TlsServer::make(mixed);
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, testing::HasSubstr("not the certificate's"));
}

TEST(TlsServer, TextThatIsNoCertificateIsRefused) {
  EXPECT_EQ(code_of(TlsServer::make({"nonsense", "nonsense"})), base::Code::Malformed);
  EXPECT_EQ(code_of(TlsClient::trusting("nonsense")), base::Code::Malformed);
}

}  // namespace
}  // namespace ron::platform::test
