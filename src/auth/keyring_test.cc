#include "auth/keyring.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "auth/test_support.h"
#include "base/encoding.h"

namespace ron::auth {
namespace {

using testing::kNow;
using testing::nonce_bytes;
using testing::root_key;
using testing::secret_bytes;

constexpr std::string_view kSecretOfOnes = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE";

TEST(RootKey, DerivesItsIdFromTheSecret) {
  const auto one = make_root_key(secret_bytes(1), kNow).value();
  const auto two = make_root_key(secret_bytes(2), kNow).value();
  EXPECT_TRUE(is_key_id(one.id));
  EXPECT_EQ(one.id, make_root_key(secret_bytes(1), kNow + 5).value().id);
  EXPECT_NE(one.id, two.id);
  EXPECT_EQ(one.created_unix_s, kNow);
  EXPECT_EQ(one.not_after_unix_s, std::nullopt);
}

TEST(RootKey, HasAFingerprintThatIsNotPartOfItsId) {
  const auto one = make_root_key(secret_bytes(1), kNow).value();
  EXPECT_EQ(fingerprint(one).size(), 8U);
  EXPECT_EQ(fingerprint(one), fingerprint(root_key("renamed", 1)));
  EXPECT_NE(fingerprint(one), fingerprint(root_key("k2", 2)));
  EXPECT_EQ(one.id.find(fingerprint(one)), std::string::npos);
}

TEST(KeyFile, PrintsOneLine) {
  RootKey key = root_key("k1", 1);
  key.created_unix_s = kNow;
  const std::string line = "ron-key-v1 k1 " + std::string(kSecretOfOnes) + " 2027-01-15T08:00:00Z";
  EXPECT_EQ(print_key_file(key), line + "\n");
  key.not_after_unix_s = kNow + 60;
  EXPECT_EQ(print_key_file(key), line + " 2027-01-15T08:01:00Z\n");
}

TEST(KeyFile, ReadsBackWhatItPrints) {
  EXPECT_TRUE(rc::check("parse(print(key)) == key", [] {
    RootKey key = root_key("k-1_a", *rc::gen::arbitrary<unsigned char>());
    key.created_unix_s = *rc::gen::inRange<std::int64_t>(0, kNow);
    key.not_after_unix_s =
        *rc::gen::element<std::optional<std::int64_t>>(std::nullopt, kNow, kNow + 1);
    RC_ASSERT(parse_key_file(print_key_file(key)).value() == key);
  }));
}

TEST(KeyFile, RefusesEverythingElseWithoutQuotingIt) {
  const std::string secret(kSecretOfOnes);
  const std::string time = "2027-01-15T08:00:00Z";
  EXPECT_TRUE(parse_key_file("ron-key-v1 k1 " + secret + " " + time));
  for (const std::string& bad : {
           std::string(),
           std::string("ron-key-v1"),
           "ron-key-v2 k1 " + secret + " " + time,
           "ron-key-v1 K1 " + secret + " " + time,
           "ron-key-v1  " + secret + " " + time,
           "ron-key-v1 k1  " + secret + " " + time,
           "ron-key-v1 k1 " + secret,
           "ron-key-v1 k1 " + secret + " today",
           "ron-key-v1 k1 " + secret + " " + time + " never",
           "ron-key-v1 k1 " + secret + " " + time + " ",
           "ron-key-v1 k1 " + secret + " " + time + " " + time + " " + time,
           "ron-key-v1 k1 " + secret + " " + time + "\n\n",
           "ron-key-v1 k1 " + secret + " " + time + "\r\n",
           "ron-key-v1 k1 " + secret + "= " + time,
           "ron-key-v1 k1 " + secret.substr(1) + " " + time,
           "ron-key-v1 k1 " + secret.substr(0, 42) + "F " + time,  // stray bits in the last digit
           "ron-key-v1 k1 AQEB " + time,
           "ron-key-v1 k1 " + secret + " " + time + std::string(300, ' '),
       }) {
    const auto key = parse_key_file(bad);
    ASSERT_FALSE(key) << bad;
    EXPECT_EQ(key.error().code, base::Code::Malformed);
    EXPECT_EQ(key.error().message.find("AQEB"), std::string::npos);
  }
}

TEST(TokenIdentifier, CarriesKeyIdNonceAndTenancy) {
  const std::string nonce = "abababababababababababababababab";
  for (const auto& [tenancy, text] :
       {std::pair(Tenancy::unsaid(), "v1:k1:" + nonce),
        std::pair(Tenancy::nobody(), "v2:k1:" + nonce + ":none"),
        std::pair(Tenancy::any(), "v2:k1:" + nonce + ":any"),
        std::pair(Tenancy::named("a.B-c_9"), "v2:k1:" + nonce + ":tenant=a.B-c_9")}) {
    EXPECT_EQ(print_token_identifier("k1", nonce_bytes(0xab), tenancy), text);
    EXPECT_EQ(parse_token_identifier(text).value(),
              (TokenIdentifier{.key_id = "k1", .token_id = nonce, .tenancy = tenancy}));
  }
}

TEST(TokenIdentifier, RefusesEverythingElse) {
  const std::string nonce(32, 'a');
  for (const std::string& bad : {std::string(),
                                 std::string("v1:"),
                                 std::string("v1:k1"),
                                 "v2:k1:" + nonce,
                                 "v1::" + nonce,
                                 "v2:k1:" + nonce + ":",
                                 "v2:k1:" + nonce + ":Any",
                                 "v2:k1:" + nonce + ":acme",
                                 "v2:k1:" + nonce + ":tenant=",
                                 "v2:k1:" + nonce + ":tenant=a:b",
                                 "v2:k1:" + nonce + ":tenant=" + std::string(65, 'a'),
                                 "v2:k1:" + nonce + ":none:",
                                 "v1:k1:" + nonce + ":none",
                                 "v3:k1:" + nonce + ":none",
                                 "v1:K1:" + nonce,
                                 "v1:k1:" + nonce + "a",
                                 "v1:k1:" + nonce.substr(1),
                                 "v1:k1:" + std::string(32, 'A'),
                                 "v1:k1:k2:" + nonce,
                                 "v1:" + std::string(33, 'k') + ":" + nonce}) {
    EXPECT_FALSE(parse_token_identifier(bad)) << bad;
  }
}

TEST(Keyring, FindsKeysById) {
  const auto ring = Keyring::make(root_key("k2", 2), {root_key("k1", 1)}, {}).value();
  EXPECT_EQ(ring.active().id, "k2");
  EXPECT_EQ(ring.find("k1")->secret, Secret(secret_bytes(1)));
  EXPECT_EQ(ring.find("k3"), nullptr);
}

TEST(Keyring, RefusesBadAndRepeatedIdsAndTooManyKeys) {
  EXPECT_FALSE(Keyring::make(root_key("k 1", 1), {}, {}));
  EXPECT_FALSE(Keyring::make(root_key("", 1), {}, {}));
  EXPECT_FALSE(Keyring::make(root_key("k1", 1), {root_key("k1", 2)}, {}));
  std::vector<RootKey> older;
  for (std::size_t i = 1; i < kMaxKeys; ++i) older.push_back(root_key("o" + std::to_string(i), 1));
  EXPECT_TRUE(Keyring::make(root_key("k1", 1), older, {}));
  older.push_back(root_key("last", 1));
  EXPECT_FALSE(Keyring::make(root_key("k1", 1), older, {}));
}

TEST(Keyring, RefusesDenyEntriesThatCouldNeverMatch) {
  const auto make = [](DenyList denied) {
    return Keyring::make(root_key("k1", 1), {}, std::move(denied)).has_value();
  };
  EXPECT_TRUE(make(
      {.token_ids = {std::string(32, 'a')}, .key_ids = {"gone"}, .fingerprints = {"0123abcd"}}));
  EXPECT_FALSE(make({.token_ids = {std::string(32, 'A')}, .key_ids = {}, .fingerprints = {}}));
  EXPECT_FALSE(make({.token_ids = {}, .key_ids = {"GONE"}, .fingerprints = {}}));
  EXPECT_FALSE(make({.token_ids = {}, .key_ids = {}, .fingerprints = {"0123ABCD"}}));
}

TEST(Keyring, RefusesADenyListBeyondItsBound) {
  DenyList denied;
  for (std::size_t i = 0; i < kMaxDenied; ++i) denied.key_ids.insert("k" + std::to_string(i));
  EXPECT_TRUE(Keyring::make(root_key("a", 1), {}, denied));
  denied.key_ids.insert("one-more");
  EXPECT_FALSE(Keyring::make(root_key("a", 1), {}, denied));
}

TEST(Keyring, RotationKeepsTheOldKeyForTheOverlap) {
  const auto first = Keyring::make(root_key("k1", 1), {}, {}).value();
  const auto second = first.rotated(root_key("k2", 2), kNow + 100, kNow).value();
  EXPECT_EQ(second.active().id, "k2");
  ASSERT_NE(second.find("k1"), nullptr);
  EXPECT_EQ(second.find("k1")->not_after_unix_s, kNow + 100);
  // A later rotation neither extends that nor keeps a key that is past it.
  const auto third = second.rotated(root_key("k3", 3), kNow + 500, kNow + 50).value();
  EXPECT_EQ(third.find("k1")->not_after_unix_s, kNow + 100);
  const auto fourth = third.rotated(root_key("k4", 4), kNow + 500, kNow + 100).value();
  EXPECT_EQ(fourth.find("k1"), nullptr);
  EXPECT_EQ(fourth.keys().size(), 3U);
}

TEST(Keyring, RotationDoesNotExtendAKeysOwnEnd) {
  RootKey ending = root_key("k1", 1);
  ending.not_after_unix_s = kNow + 10;
  const auto ring = Keyring::make(ending, {}, {}).value();
  EXPECT_EQ(ring.rotated(root_key("k2", 2), kNow + 100, kNow)->find("k1")->not_after_unix_s,
            kNow + 10);
}

}  // namespace
}  // namespace ron::auth
