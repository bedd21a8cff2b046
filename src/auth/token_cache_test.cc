#include "auth/token_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "auth/test_support.h"

namespace ron::auth {
namespace {

using base::Code;
using testing::root_key;
using testing::token_with;

std::shared_ptr<const Keyring> shared_keyring(DenyList denied = {}) {
  return std::make_shared<const Keyring>(testing::keyring(std::move(denied)));
}

// A token of at least `length` characters, by as many caveats as it takes.
std::string text_of_length(std::size_t length) {
  std::vector<std::string> caveats;
  std::string text;
  while (text.size() < length) {
    caveats.push_back("path_prefix = /" + std::string(200, 'a'));
    text = token_with(caveats).text();
  }
  return text;
}

TEST(TokenCache, AnswersAsVerifyTokenDoesFirstAndAgain) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& turns) {
    const auto ring = shared_keyring();
    TokenCache cache;
    const std::vector<std::string>& caveats = testing::all_caveat_texts();
    for (const std::uint8_t turn : turns) {
      std::string text = token_with({caveats[turn % caveats.size()]}).text();
      if (turn >= 128) text[turn % text.size()] = text[turn % text.size()] == 'A' ? 'B' : 'A';
      const auto plain = verify_token(*ring, text);
      const auto cached = cache.verify(ring, text);
      RC_ASSERT(plain.has_value() == cached.has_value());
      if (plain) RC_ASSERT((*cached)->grant == plain->grant);
      if (plain) RC_ASSERT((*cached)->fingerprint == plain->fingerprint);
      if (!plain) RC_ASSERT(cached.error().code == plain.error().code);
    }
  }));
}

TEST(TokenCache, AKnownTokenIsNotVerifiedAgain) {
  const auto ring = shared_keyring();
  TokenCache cache;
  const std::string text = token_with({}).text();
  const VerifiedToken* const first = *cache.verify(ring, text);
  const char* const kept = first->token_id.data();
  EXPECT_EQ((*cache.verify(ring, text))->token_id.data(), kept);
}

TEST(TokenCache, ARevokedTokenIsRefusedAtOnce) {
  TokenCache cache;
  const std::string text = token_with({}).text();
  const auto before = shared_keyring();
  const std::string token_id = (*cache.verify(before, text))->token_id;
  DenyList denied;
  denied.token_ids.insert(token_id);
  const auto refused = cache.verify(shared_keyring(denied), text);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::RevokedKey);
  EXPECT_TRUE(cache.verify(before, text));
}

TEST(TokenCache, AnotherKeyringInTheSamePlaceIsAnotherKeyring) {
  TokenCache cache;
  const std::string text = token_with({}).text();
  for (int i = 0; i < 100; ++i) {  // the allocator likes to give the same address again
    EXPECT_TRUE(cache.verify(shared_keyring(), text));
    const auto other =
        std::make_shared<const Keyring>(Keyring::make(root_key("k1", 2), {}, {}).value());
    EXPECT_FALSE(cache.verify(other, text));
  }
}

TEST(TokenCache, KeepsNoKeyringAlive) {
  TokenCache cache;
  auto ring = shared_keyring();
  const std::weak_ptr<const Keyring> watch = ring;
  EXPECT_TRUE(cache.verify(ring, token_with({}).text()));
  ring.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(TokenCache, TooLongATokenIsVerifiedEachTime) {
  const auto ring = shared_keyring();
  TokenCache cache;
  const std::string longer = text_of_length(TokenCache::kMaxText + 1);
  const std::string other = text_of_length(2 * TokenCache::kMaxText);
  const std::string own = (*cache.verify(ring, longer))->fingerprint;
  EXPECT_NE((*cache.verify(ring, other))->fingerprint, own);
  EXPECT_EQ((*cache.verify(ring, longer))->fingerprint, own);
}

}  // namespace
}  // namespace ron::auth
