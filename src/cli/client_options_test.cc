#include "cli/client_options.h"

#include <set>

#include <gtest/gtest.h>

#include "cli/test_support.h"

namespace ron::cli {
namespace {

bool nobody_listens(const ServerUrl&) { return false; }

class ClientOptionsTest : public testing::InScratch {
 protected:
  // No data directory beside it, unless a test makes one.
  [[nodiscard]] ClientFlags flags() const {
    ClientFlags made;
    made.data = path("data");
    return made;
  }
  [[nodiscard]] base::Result<ClientOptions> with(const Environment& environment) const {
    return resolve(flags(), environment, nobody_listens);
  }
  [[nodiscard]] std::string refusal(const Environment& environment) const {
    const auto options = with(environment);
    return options ? "" : options.error().message;
  }
};

TEST_F(ClientOptionsTest, TheLocalServerAndItsAdminListenerAreTheDefault) {
  const auto options = with({});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->server.text(), "http://127.0.0.1:8080");
  EXPECT_EQ(options->admin->text(), "http://127.0.0.1:9090");
  EXPECT_EQ(options->token, "");
  EXPECT_NE(options->no_token.find("admin.token"), std::string::npos);
}

TEST_F(ClientOptionsTest, AStorageServiceAloneIsFoundWhereNothingElseIs) {
  const auto served_on = [this](std::set<std::uint16_t> ports) {
    const auto options =
        resolve(flags(), {}, [&ports](const ServerUrl& url) { return ports.contains(url.port); });
    return options->server.text() + " " + options->admin->text();
  };
  const std::string up = "http://127.0.0.1:8080 http://127.0.0.1:9090";
  EXPECT_EQ(served_on({}), up);
  EXPECT_EQ(served_on({8080, 8081}), up);
  EXPECT_EQ(served_on({8081}), "http://127.0.0.1:8081 http://127.0.0.1:9081");
}

TEST_F(ClientOptionsTest, AnotherServiceAloneIsFoundOnItsOwnPort) {
  ClientFlags registry = flags();
  registry.service_port = 8083;
  const auto served_on = [&registry](std::set<std::uint16_t> ports) {
    const auto options =
        resolve(registry, {}, [&ports](const ServerUrl& url) { return ports.contains(url.port); });
    return options->server.port;
  };
  EXPECT_EQ(served_on({8081, 8083}), 8083);
  EXPECT_EQ(served_on({8081}), 8080);
  EXPECT_EQ(served_on({8080, 8083}), 8080);
}

TEST_F(ClientOptionsTest, TheAdminListenerIsNeverAnotherServers) {
  const Environment environment = {{"RON_URL", "http://a:8081"}, {"RON_ADMIN_URL", "http://b:1"}};
  EXPECT_EQ(with(environment)->admin->text(), "http://b:1");
  EXPECT_EQ(with({environment[0]})->admin->text(), "http://a:9081");
  ClientFlags other = flags();
  other.url = "http://c:8081";
  EXPECT_EQ(resolve(other, environment, nobody_listens)->admin->text(), "http://c:9081")
      << "the variable belongs to the server of RON_URL";
  other.admin_url = "http://d:7";
  EXPECT_EQ(resolve(other, environment, nobody_listens)->admin->text(), "http://d:7");
}

TEST_F(ClientOptionsTest, APortWithoutAnAdminPortIsAProblemOnlyForWhoNeedsIt) {
  const auto options = with({{"RON_URL", "http://a:65000"}});
  ASSERT_TRUE(options);
  EXPECT_FALSE(options->admin);
}

TEST_F(ClientOptionsTest, ABadUrlIsToldWithItsFlagOrVariable) {
  EXPECT_TRUE(refusal({{"RON_URL", "a:1"}}).starts_with("RON_URL: 'a:1' "));
  EXPECT_TRUE(refusal({{"RON_ADMIN_URL", "a:1"}}).starts_with("RON_ADMIN_URL: "));
  ClientFlags bad = flags();
  bad.url = "x";
  EXPECT_TRUE(resolve(bad, {}, nobody_listens).error().message.starts_with("--url: 'x' "));
}

TEST_F(ClientOptionsTest, AMisspeltVariableIsAnErrorThatNamesTheRightOne) {
  EXPECT_NE(refusal({{"RON_URI", "http://a:1"}}).find("did you mean RON_URL?"), std::string::npos);
  EXPECT_NE(refusal({{"RON_TOKN", "x"}}).find("did you mean RON_TOKEN?"), std::string::npos);
  EXPECT_NE(refusal({{"RON_ADMINURL", "x"}}).find("did you mean RON_ADMIN_URL?"),
            std::string::npos);
  EXPECT_EQ(refusal({{"RON_STORAGE__CACHE_BYTES", "1GiB"}, {"RON_BINARY", "x"}, {"PATH", "/bin"}}),
            "");
}

TEST_F(ClientOptionsTest, ABadTokenIsToldWithItsPlaceAndNotRepeated) {
  const std::string message = refusal({{"RON_TOKEN", "hunter2"}});
  EXPECT_TRUE(message.starts_with("the token in RON_TOKEN: ")) << message;
  EXPECT_EQ(message.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace ron::cli
