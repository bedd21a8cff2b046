// Both directions with the npm package `macaroon`, which runs as its own process (tests/interop).
#include <initializer_list>

#include <gtest/gtest.h>

#include "auth/capability.h"
#include "auth/test_programs.h"
#include "auth/test_support.h"
#include "base/encoding.h"

namespace ron::auth {
namespace {

using testing::keyring;
using testing::kNow;
using testing::nonce_bytes;
using testing::Outcome;
using testing::quoted;
using testing::run;
using testing::token_with;

class Interop : public ::testing::Test {
 protected:
  // A copy in the build tree; the stamp is written only after a complete installation.
  static void SetUpTestSuite() {
    const std::string source = quoted(RON_INTEROP_SOURCE);
    const std::string work = quoted(RON_INTEROP_WORK);
    const Outcome installed =
        run("( mkdir -p " + work + " && cp " + source + "/*.json " + source + "/check.mjs " + work +
            " && cd " + work +
            " && { cmp -s package.json .installed || npm install --no-audit --no-fund --silent; }"
            " && cp package.json .installed )");
    ASSERT_EQ(installed.status, 0) << installed.output;
  }

  static Outcome node(std::string_view command, std::initializer_list<std::string_view> arguments) {
    std::string line = "node " + quoted(RON_INTEROP_WORK "/check.mjs") + " " + quoted(command);
    for (const std::string_view argument : arguments) line += " " + quoted(argument);
    return run(line);
  }

  // The single line of a successful command.
  static std::string token_from(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return outcome.output.substr(0, outcome.output.find('\n'));
  }

  const Keyring ring_ = keyring();
  const std::string key_ = base::to_base64url(ring_.active().secret.bytes());
  const std::string identifier_ = print_token_identifier("k1", nonce_bytes(9), Tenancy::any());
};

TEST_F(Interop, TheClientVerifiesOurTokens) {
  const std::vector<Caveat> caveats{TenantCaveat{"acme"}, PathPrefixCaveat{"/o"},
                                    ExpiresCaveat{kNow + 60}};
  const auto token = mint_token(ring_, caveats, nonce_bytes(9), kNow).value();
  const Outcome shown = node("show", {key_, token.text()});
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.output, "ron\n" +
                              print_token_identifier("k1", nonce_bytes(9), Tenancy::named("acme")) +
                              "\ntenant = acme\npath_prefix = /o\n"
                              "expires = 2027-01-15T08:01:00Z\n");
}

TEST_F(Interop, TheClientRefusesOurTokensUnderAnotherKey) {
  const std::string other = base::to_base64url(testing::secret_bytes(2));
  const Outcome shown = node("show", {other, token_with({}).text()});
  EXPECT_EQ(shown.status, 1);
  EXPECT_NE(shown.output.find("signature mismatch"), std::string::npos) << shown.output;
}

TEST_F(Interop, WeAcceptOurTokensAttenuatedByTheClient) {
  const Macaroon ours = token_with({"scope = storage:write,storage:delete"});
  const std::string text =
      token_from(node("attenuate", {key_, ours.text(), "scope = storage:write"}));
  EXPECT_EQ(text, ours.attenuate("scope = storage:write")->text());

  Request request{.scope = Scope::kStorageWrite,
                  .method = "PUT",
                  .path = "/o/x",
                  .body_bytes = 1,
                  .now_unix_s = kNow};
  EXPECT_TRUE(authorize(ring_, text, request));
  request.scope = Scope::kStorageDelete;
  EXPECT_EQ(authorize(ring_, text, request).error().code, base::Code::Forbidden);
}

TEST_F(Interop, ATenantTheClientAddsIsRefusedUnlessTheTokenIsForAny) {
  const Request request{.scope = Scope::kStorageWrite,
                        .method = "PUT",
                        .path = "/o/x",
                        .body_bytes = 1,
                        .now_unix_s = kNow};
  for (const Tenancy& tenancy : testing::all_tenancies()) {
    const std::string text =
        token_from(node("attenuate", {key_, token_with({}, tenancy).text(), "tenant = acme"}));
    const bool may = tenancy == Tenancy::any() || tenancy == Tenancy::named("acme");
    const auto capability = authorize(ring_, text, request);
    EXPECT_EQ(capability.has_value(), may) << print(tenancy);
    if (capability) EXPECT_EQ(capability->tenant, "acme");
  }
}

TEST_F(Interop, WeAcceptAndAttenuateTheClientsTokens) {
  const std::string long_caveat = "path_prefix = /" + std::string(300, 'a');
  const std::string text =
      token_from(node("mint", {key_, identifier_, "ron", "method = GET", long_caveat}));
  EXPECT_EQ(text, token_with({"method = GET", long_caveat}).text());
  const auto token = Macaroon::parse_text(text);
  ASSERT_TRUE(token);
  EXPECT_TRUE(verify_token(ring_, text));

  const auto narrower = token->attenuate("max_bytes = 5").value();
  const Outcome shown = node("show", {key_, narrower.text()});
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.output,
            "ron\n" + identifier_ + "\nmethod = GET\n" + long_caveat + "\nmax_bytes = 5\n");
}

TEST_F(Interop, WeRefuseTheClientsThirdPartyCaveats) {
  const std::string text = token_from(node("third-party", {key_, identifier_, "ron"}));
  const auto token = Macaroon::parse_text(text);
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().message.find("third-party"), std::string::npos);
  EXPECT_EQ(verify_token(ring_, text).error().code, base::Code::Unauthorized);
}

}  // namespace
}  // namespace ron::auth
