#include "auth/capability.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "auth/test_support.h"
#include "base/encoding.h"

namespace ron::auth {
namespace {

using base::Code;
using testing::keyring;
using testing::kNow;
using testing::nonce_bytes;
using testing::root_key;
using testing::token_with;

Request put_request() {
  return Request{.scope = Scope::kStorageWrite,
                 .method = "PUT",
                 .path = "/o/x",
                 .body_bytes = 10,
                 .now_unix_s = kNow};
}

// The code of the refusal; none when authorized.
std::optional<Code> refusal(const Keyring& ring, std::string_view text, const Request& request) {
  const auto capability = authorize(ring, text, request);
  if (capability) return std::nullopt;
  return capability.error().code;
}

// Whether the holder of the token can get this request done for that tenant.
bool succeeds(const base::Result<VerifiedToken>& token, const Request& request,
              const std::string& tenant) {
  return token && permits(*token, request) && testing::can_act_for(token->grant, tenant);
}

// How many requests of the small world, each for every tenant, `caveats` and one more permit; none
// if any of them is not permitted without the additional one.
std::optional<int> permitted_after_narrowing(std::vector<std::string> caveats,
                                             const std::string& more, const Tenancy& tenancy) {
  const auto wide = verify_token(keyring(), token_with(caveats, tenancy).text());
  caveats.push_back(more);
  const auto narrow = verify_token(keyring(), token_with(caveats, tenancy).text());
  int count = 0;
  for (const Request& request : testing::all_requests()) {
    for (const std::string& tenant : testing::all_tenants()) {
      if (!succeeds(narrow, request, tenant)) continue;
      if (!succeeds(wide, request, tenant)) return std::nullopt;
      ++count;
    }
  }
  return count;
}

TEST(Capability, AGoodTokenYieldsItsGrant) {
  const auto capability = authorize(keyring(),
                                    token_with({"tenant = acme", "scope = storage:write",
                                                "max_bytes = 10", "expires = 2030-01-01T00:00:00Z"})
                                        .text(),
                                    put_request());
  ASSERT_TRUE(capability);
  EXPECT_EQ(capability->tenant, "acme");
  EXPECT_EQ(print(capability->scopes), "storage:write");
  EXPECT_EQ(capability->max_bytes, 10U);
  EXPECT_EQ(capability->expires_unix_s, 1'893'456'000);
  EXPECT_EQ(capability->token_id, "09090909090909090909090909090909");
  EXPECT_TRUE(is_fingerprint(capability->fingerprint));
}

TEST(Capability, AbsentGarbledAndForeignTokensAreUnauthorized) {
  const RootKey key = root_key("k1", 1);
  const auto mint = [&](std::string_view identifier, std::string_view location) {
    return Macaroon::mint(key.secret.bytes(), identifier, location).value().text();
  };
  const std::string good = print_token_identifier("k1", nonce_bytes(9), Tenancy::nobody());
  EXPECT_EQ(refusal(keyring(), mint(good, "ron"), put_request()), std::nullopt);
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("not a token"),
        token_with({}).text().substr(4), mint("hello", "ron"), mint(good, ""), mint(good, "other"),
        mint(good + ":", "ron"), mint(good.substr(0, good.size() - 1), "ron"),
        mint("v3" + good.substr(2), "ron"), mint("v1" + good.substr(2), "ron"),
        mint(print_token_identifier("k2", nonce_bytes(9), Tenancy::nobody()), "ron")}) {
    EXPECT_EQ(refusal(keyring(), bad, put_request()), Code::Unauthorized) << bad;
  }
}

TEST(Capability, ATokenOfAnotherSecretIsUnauthorized) {
  const auto other = Keyring::make(root_key("k1", 2), {}, {}).value();
  EXPECT_EQ(refusal(other, token_with({}).text(), put_request()), Code::Unauthorized);
}

TEST(Capability, AnyBitFlipIsUnauthorized) {
  const auto bytes = token_with({"scope = storage:write", "tenant = acme"}).serialize();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_EQ(refusal(keyring(), base::to_base64url(flipped), put_request()), Code::Unauthorized)
        << "bit " << bit;
  }
}

TEST(Capability, AnUncoveredRequestIsForbidden) {
  for (const char* caveat : {"scope = index:write", "path_prefix = /uploads", "method = GET",
                             "max_bytes = 9", "scope = future:scope"}) {
    EXPECT_EQ(refusal(keyring(), token_with({caveat}).text(), put_request()), Code::Forbidden)
        << caveat;
  }
}

TEST(Capability, AnUnknownCaveatIsForbidden) {
  for (const char* caveat : {"colour = blue", "scope=storage:write", "\xff", "tenant = "}) {
    EXPECT_EQ(refusal(keyring(), token_with({caveat}).text(), put_request()), Code::Forbidden)
        << caveat;
  }
}

TEST(Capability, AnExpiredTokenIsUnauthorized) {
  EXPECT_EQ(
      refusal(keyring(), token_with({"expires = 2027-01-15T08:00:00Z"}).text(), put_request()),
      Code::Unauthorized);
}

TEST(Capability, ARevokedTokenKeyOrFingerprintIsRevoked) {
  const Macaroon token = token_with({"scope = storage:write"});
  const DenyList by_token{.token_ids = {std::string("09090909090909090909090909090909")},
                          .key_ids = {},
                          .fingerprints = {}};
  const DenyList by_key{.token_ids = {}, .key_ids = {"k1"}, .fingerprints = {}};
  const DenyList by_print{.token_ids = {}, .key_ids = {}, .fingerprints = {fingerprint(token)}};
  for (const DenyList& denied : {by_token, by_key, by_print}) {
    EXPECT_EQ(refusal(keyring(denied), token.text(), put_request()), Code::RevokedKey);
  }
}

TEST(Capability, AttenuationDoesNotEscapeARevokedFingerprint) {
  const Macaroon token = token_with({"scope = storage:write"});
  const auto ring = keyring({.token_ids = {}, .key_ids = {}, .fingerprints = {fingerprint(token)}});
  const Macaroon disguised = token.attenuate("path_prefix = /").value();
  EXPECT_EQ(refusal(ring, disguised.text(), put_request()), Code::RevokedKey);
  // Its ancestor and its siblings are other tokens.
  EXPECT_EQ(refusal(ring, token_with({}).text(), put_request()), std::nullopt);
}

TEST(Capability, ARevokedKeyThatIsGoneIsStillCalledRevoked) {
  const auto ring =
      Keyring::make(root_key("k2", 2), {}, {.token_ids = {}, .key_ids = {"k1"}, .fingerprints = {}})
          .value();
  EXPECT_EQ(refusal(ring, token_with({}).text(), put_request()), Code::RevokedKey);
}

TEST(Capability, AForgedTokenDoesNotLearnWhatIsRevoked) {
  const auto ring = Keyring::make(root_key("k1", 2), {},
                                  {.token_ids = {std::string("09090909090909090909090909090909")},
                                   .key_ids = {},
                                   .fingerprints = {fingerprint(token_with({}))}})
                        .value();
  EXPECT_EQ(refusal(ring, token_with({}).text(), put_request()), Code::Unauthorized);
}

TEST(Capability, OldKeysVerifyUntilTheOverlapEnds) {
  const auto rotated = keyring().rotated(root_key("k2", 2), kNow + 10, kNow).value();
  const std::string old_token = token_with({}).text();
  Request request = put_request();
  request.now_unix_s = kNow + 9;
  EXPECT_EQ(refusal(rotated, old_token, request), std::nullopt);
  request.now_unix_s = kNow + 10;
  EXPECT_EQ(refusal(rotated, old_token, request), Code::Unauthorized);
  const auto fresh = mint_token(rotated, {}, nonce_bytes(3), kNow).value();
  EXPECT_EQ(refusal(rotated, fresh.text(), request), std::nullopt);
}

TEST(Capability, ErrorsDoNotQuoteTheToken) {
  const std::string text = token_with({"colour = blue"}).text();
  const auto verified = verify_token(keyring(), text);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message.find(text.substr(0, 8)), std::string::npos);
}

TEST(Mint, MintsWithTheActiveKeyAndTheCaveats) {
  const std::vector<Caveat> caveats{TenantCaveat{"acme"}, MethodCaveat{{"GET", "PUT"}}};
  const auto token = mint_token(keyring(), caveats, nonce_bytes(7), kNow);
  ASSERT_TRUE(token);
  EXPECT_EQ(token->identifier(), "v2:k1:07070707070707070707070707070707:tenant=acme");
  EXPECT_EQ(token->location(), "ron");
  EXPECT_EQ(token->caveats(), (std::vector<std::string>{"tenant = acme", "method = GET,PUT"}));
  EXPECT_TRUE(verify_token(keyring(), token->text()));
}

TEST(Mint, SaysForWhichTenantTheTokenActs) {
  const auto identifier_of = [](std::vector<Caveat> caveats, TenantChoice choice) {
    return mint_token(keyring(), caveats, nonce_bytes(7), kNow, choice)->identifier().substr(39);
  };
  EXPECT_EQ(identifier_of({}, TenantChoice::Fixed), "none");
  EXPECT_EQ(identifier_of({}, TenantChoice::Any), "any");
  EXPECT_EQ(identifier_of({TenantCaveat{"acme"}, TenantCaveat{"acme"}}, TenantChoice::Fixed),
            "tenant=acme");
  const std::vector<Caveat> two{TenantCaveat{"acme"}, TenantCaveat{"other"}};
  EXPECT_EQ(mint_token(keyring(), two, nonce_bytes(7), kNow).error().code, Code::Malformed);
  EXPECT_EQ(
      mint_token(keyring(), {two.data(), 1}, nonce_bytes(7), kNow, TenantChoice::Any).error().code,
      Code::Malformed);
}

TEST(Mint, RefusesCaveatsNoServerWouldAccept) {
  for (const Caveat& bad :
       {Caveat(ScopeCaveat{}), Caveat(TenantCaveat{"a b"}), Caveat(PathPrefixCaveat{"o"}),
        Caveat(MethodCaveat{}), Caveat(MethodCaveat{{"get"}})}) {
    EXPECT_FALSE(mint_token(keyring(), {&bad, 1}, nonce_bytes(7), kNow)) << print(bad);
    EXPECT_FALSE(attenuate_token(token_with({}), {&bad, 1})) << print(bad);
  }
}

TEST(Mint, RefusesARevokedOrExpiredKey) {
  const auto denied = keyring({.token_ids = {}, .key_ids = {"k1"}, .fingerprints = {}});
  EXPECT_EQ(mint_token(denied, {}, nonce_bytes(7), kNow).error().code, Code::RevokedKey);
  RootKey ending = root_key("k1", 1);
  ending.not_after_unix_s = kNow;
  const auto ended = Keyring::make(ending, {}, {}).value();
  EXPECT_TRUE(mint_token(ended, {}, nonce_bytes(7), kNow - 1));
  EXPECT_EQ(mint_token(ended, {}, nonce_bytes(7), kNow).error().code, Code::RevokedKey);
}

TEST(Attenuation, ATenantAddedLaterIsRefusedUnlessTheTokenIsForAny) {
  const auto code = [](const Tenancy& tenancy, const std::vector<std::string>& caveats) {
    return refusal(keyring(), token_with(caveats, tenancy).text(), put_request());
  };
  for (const Tenancy& tenancy : {Tenancy::unsaid(), Tenancy::nobody()}) {
    EXPECT_EQ(code(tenancy, {}), std::nullopt);
    EXPECT_EQ(code(tenancy, {"tenant = acme"}), Code::Forbidden) << print(tenancy);
  }
  EXPECT_EQ(code(Tenancy::named("acme"), {}), std::nullopt);
  EXPECT_EQ(code(Tenancy::named("acme"), {"tenant = acme"}), std::nullopt);
  EXPECT_EQ(code(Tenancy::named("acme"), {"tenant = other"}), Code::Forbidden);
  EXPECT_EQ(code(Tenancy::any(), {}), std::nullopt);
  EXPECT_EQ(code(Tenancy::any(), {"tenant = acme"}), std::nullopt);
  EXPECT_EQ(code(Tenancy::any(), {"tenant = acme", "tenant = other"}), Code::Forbidden);
}

TEST(Attenuation, TheRefusalOfATenantSaysWhatToDo) {
  const auto message = [](const Tenancy& tenancy) {
    const std::string text = token_with({"tenant = acme"}, tenancy).text();
    return authorize(keyring(), text, put_request()).error().message;
  };
  EXPECT_NE(message(Tenancy::unsaid()).find("mint it again"), std::string::npos);
  EXPECT_NE(message(Tenancy::nobody()).find("ron token mint --tenant"), std::string::npos);
}

TEST(Attenuation, IsNotPreparedWithATenantThatEveryServerRefuses) {
  const std::vector<Caveat> acme{TenantCaveat{"acme"}};
  const auto code = [&acme](const Tenancy& tenancy) -> std::optional<Code> {
    const auto narrower = attenuate_token(token_with({}, tenancy), acme);
    return narrower ? std::nullopt : std::optional(narrower.error().code);
  };
  EXPECT_EQ(code(Tenancy::unsaid()), Code::Forbidden);
  EXPECT_EQ(code(Tenancy::nobody()), Code::Forbidden);
  EXPECT_EQ(code(Tenancy::named("other")), Code::Forbidden);
  EXPECT_EQ(code(Tenancy::named("acme")), std::nullopt);
  EXPECT_EQ(code(Tenancy::any()), std::nullopt);
}

TEST(Attenuation, NeverWidensForAnyPairOfCaveats) {
  for (const Tenancy& tenancy : testing::all_tenancies()) {
    int permitted = 0;
    for (const std::string& caveat : testing::all_caveat_texts()) {
      for (const std::string& more : testing::all_caveat_texts()) {
        const auto count = permitted_after_narrowing({caveat}, more, tenancy);
        ASSERT_TRUE(count) << print(tenancy) << " | " << caveat << " | " << more;
        permitted += *count;
      }
    }
    EXPECT_GT(permitted, 0);
  }
}

TEST(Attenuation, NeverWidens) {
  EXPECT_TRUE(rc::check("attenuated permits implies the original permits", [] {
    const auto caveats = *testing::caveat_texts();
    const auto more = *testing::caveat_text();
    const auto tenancy = *testing::tenancy();
    const auto count = permitted_after_narrowing(caveats, more, tenancy);
    RC_CLASSIFY(count > 0);
    RC_ASSERT(count.has_value());
  }));
}

TEST(Attenuation, OrderDoesNotMatterButForTheSignature) {
  EXPECT_TRUE(rc::check("permuted caveats grant the same", [] {
    auto caveats = *testing::caveat_texts();
    const auto request = *testing::any_request();
    const auto tenancy = *testing::tenancy();
    const auto before = verify_token(keyring(), token_with(caveats, tenancy).text());
    const auto code = refusal(keyring(), token_with(caveats, tenancy).text(), request);
    std::ranges::reverse(caveats);
    const auto offset = caveats.empty() ? 0 : *rc::gen::inRange<std::size_t>(0, caveats.size());
    std::ranges::rotate(caveats, caveats.begin() + static_cast<std::ptrdiff_t>(offset));
    const auto after = verify_token(keyring(), token_with(caveats, tenancy).text());
    RC_ASSERT(before.has_value() == after.has_value());
    if (before) RC_ASSERT(before->grant == after->grant);
    RC_ASSERT(refusal(keyring(), token_with(caveats, tenancy).text(), request) == code);
  }));
}

TEST(Attenuation, SplitAndWholeApisAgree) {
  EXPECT_TRUE(rc::check("authorize == verify_token + permits", [] {
    const std::string text = token_with(*testing::caveat_texts()).text();
    const auto request = *testing::any_request();
    const auto verified = verify_token(keyring(), text);
    const bool split = verified && permits(*verified, request);
    RC_ASSERT(authorize(keyring(), text, request).has_value() == split);
  }));
}

TEST(AuthorizationHeader, YieldsTheBearerText) {
  EXPECT_EQ(parse_authorization_header("Bearer abc").value(), "abc");
  EXPECT_EQ(parse_authorization_header("bearer a-_+/9==").value(), "a-_+/9==");
  EXPECT_EQ(parse_authorization_header("BEARER   abc").value(), "abc");
}

TEST(AuthorizationHeader, RefusesEverythingElse) {
  for (const std::string& bad :
       {std::string(), std::string("Bearer"), std::string("Bearer "), std::string("Bearer   "),
        std::string("Bearerabc"), std::string("Basic abc"), std::string("Bearer a b"),
        std::string("Bearer abc "), std::string("Bearer\tabc"), std::string(" Bearer abc"),
        std::string("Bearer a,b"), std::string("Bearer a\0b", 10),
        "Bearer " + std::string(kMaxTokenTextBytes + 1, 'a')}) {
    const auto text = parse_authorization_header(bad);
    ASSERT_FALSE(text) << bad;
    EXPECT_EQ(text.error().code, Code::Unauthorized);
  }
}

}  // namespace
}  // namespace ron::auth
