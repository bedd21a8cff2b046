#include "auth/inspect.h"

#include <gtest/gtest.h>

#include "auth/test_support.h"
#include "base/encoding.h"

namespace ron::auth {
namespace {

using testing::token_with;

TEST(Inspect, ListsWhatTheTokenSays) {
  const Macaroon token = token_with({"tenant = acme", "colour = blue"});
  EXPECT_EQ(print(inspect_text(token.text()).value()),
            "key: k1\n"
            "token: 09090909090909090909090909090909\n"
            "tenant: acme\n"
            "location: ron\n"
            "caveat: tenant = acme\n"
            "caveat: colour = blue (not understood: refused)\n"
            "fingerprint: " +
                fingerprint(token) + "\n");
}

TEST(Inspect, TellsForWhichTenantTheTokenActs) {
  const auto tenant = [](const Tenancy& tenancy, const std::vector<std::string>& caveats) {
    return inspect(token_with(caveats, tenancy)).tenant;
  };
  EXPECT_EQ(tenant(Tenancy::any(), {}), "any (its holder may name one)");
  EXPECT_EQ(tenant(Tenancy::any(), {"tenant = acme"}), "acme");
  EXPECT_EQ(tenant(Tenancy::named("acme"), {}), "acme");
  EXPECT_EQ(tenant(Tenancy::nobody(), {"colour = blue"}), "none");
  EXPECT_EQ(tenant(Tenancy::unsaid(), {}), "none");
  EXPECT_TRUE(tenant(Tenancy::nobody(), {"tenant = acme"}).starts_with("refused (")) << "by all";
}

TEST(Inspect, ShowsNoSignature) {
  const Macaroon token = token_with({"tenant = acme"});
  const std::string shown = print(inspect(token));
  EXPECT_EQ(shown.find(base::to_hex(token.signature()).substr(0, 8)), std::string::npos);
  EXPECT_EQ(shown.find(base::to_base64url(token.signature()).substr(0, 8)), std::string::npos);
}

TEST(Inspect, EscapesWhatATerminalWouldObey) {
  const auto key = testing::secret_bytes(1);
  const auto token =
      Macaroon::mint(key, "id\n", "l\x1b[2J").value().attenuate("a\\\xff = \r").value();
  EXPECT_EQ(print(inspect(token)),
            "identifier: id\\x0a (not issued by ron)\n"
            "location: l\\x1b[2J\n"
            "caveat: a\\x5c\\xff = \\x0d (not understood: refused)\n"
            "fingerprint: " +
                fingerprint(token) + "\n");
}

TEST(Inspect, RefusesWhatIsNotAToken) {
  const auto shown = inspect_text("hello");
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, base::Code::Malformed);
}

}  // namespace
}  // namespace ron::auth
