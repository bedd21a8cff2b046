#include "cli/key.h"

#include <array>

#include "base/encoding.h"
#include "cli/key_files.h"
#include "cli/signer_key.h"
#include "cli/test_support.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using testing::kNow;
namespace files = platform::posix;

class Keys : public testing::InScratch {
 protected:
  base::Result<std::string> generate(const KeyPlan& plan, std::int64_t now = kNow) {
    return generate_key(plan, random_, now);
  }
  std::vector<KeyFile> all() { return read_key_directory(path("keys")).value(); }
  auth::Keyring ring() {
    std::vector<auth::RootKey> keys;
    for (const KeyFile& each : all()) keys.push_back(each.key);
    return keyring_of(std::move(keys), {}).value();
  }
  const KeyPlan in_directory_{.directory = path("keys")};
};

TEST_F(Keys, AreWrittenPrivately) {
  ASSERT_TRUE(generate(in_directory_));
  EXPECT_EQ(files::file_mode(path("keys")), 0700U);
  EXPECT_EQ(files::file_mode(all()[0].path), 0600U);
}

TEST_F(Keys, SayIdAndFingerprintAndNeverTheSecret) {
  const std::string said = generate(in_directory_).value();
  const auth::RootKey key = all()[0].key;
  EXPECT_EQ(said, "key " + key.id + "  fingerprint " + auth::fingerprint(key) + "\n");
  const std::string secret = base::to_base64url(key.secret.bytes());
  EXPECT_EQ(said.find(secret), std::string::npos);
  EXPECT_EQ(show_keys(path("keys"), kNow).value().find(secret), std::string::npos);
}

TEST_F(Keys, AreNeverReplaced) {
  const KeyPlan plan{.file = path("one.key")};
  ASSERT_TRUE(generate(plan));
  const auto before = files::read_small_file(path("one.key"), 1024).value();
  EXPECT_EQ(generate(plan).error().code, base::Code::PreconditionFailed);
  EXPECT_EQ(files::read_small_file(path("one.key"), 1024), before);
}

TEST_F(Keys, TheNewestIsActiveEvenWithinOneSecond) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(generate(in_directory_));
    const auth::Keyring keyring = ring();
    EXPECT_EQ(keyring.active().created_unix_s, kNow + i);
    EXPECT_EQ(keyring.keys().size(), static_cast<std::size_t>(i) + 1);
  }
}

TEST_F(Keys, RotationEndsTheOlderOnes) {
  KeyPlan plan = in_directory_;
  plan.not_after_unix_s = kNow + 50;
  ASSERT_TRUE(generate(plan));
  ASSERT_TRUE(generate(in_directory_));
  plan = in_directory_;
  plan.retire_older_at_unix_s = kNow + 100;
  ASSERT_TRUE(generate(plan));
  const auth::Keyring keyring = ring();
  EXPECT_EQ(keyring.keys()[0].not_after_unix_s, std::nullopt);
  EXPECT_EQ(keyring.keys()[1].not_after_unix_s, kNow + 100);
  EXPECT_EQ(keyring.keys()[2].not_after_unix_s, kNow + 50) << "never later than before";
}

TEST_F(Keys, AreShownNewestFirstWithTheirState) {
  KeyPlan plan = in_directory_;
  plan.not_after_unix_s = kNow + 50;
  ASSERT_TRUE(generate(plan));
  ASSERT_TRUE(generate(in_directory_));
  const auth::Keyring keyring = ring();
  const auto line = [](const auth::RootKey& key, const std::string& rest) {
    return "key " + key.id + "  fingerprint " + auth::fingerprint(key) + rest;
  };
  const std::string newest =
      line(keyring.keys()[0], "  created 2027-01-15T08:00:01Z  ends never  active\n");
  const std::string older =
      line(keyring.keys()[1], "  created 2027-01-15T08:00:00Z  ends 2027-01-15T08:00:50Z");
  EXPECT_EQ(show_keys(path("keys"), kNow), newest + older + "  verifies\n");
  EXPECT_EQ(show_keys(path("keys"), kNow + 50), newest + older + "  ended\n");
}

TEST_F(Keys, OfANodeThePublicOneIsShown) {
  ASSERT_TRUE(generate(in_directory_));
  const std::string before = show_keys(path("keys"), kNow).value();
  std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
  const auth::SigningKey node = *auth::SigningKey::from_seed(seed);
  ASSERT_TRUE(files::write_private_file(path("keys/node.pem"), *node.pem()));
  const std::string line = "node  public key " + base::to_base64(node.public_key().bytes) + "\n";
  EXPECT_EQ(show_keys(path("keys"), kNow), before + line);
  EXPECT_EQ(show_signer_key(path("keys/node.pem")), line);
}

TEST_F(Keys, ADirectoryOthersMayEnterIsRefused) {
  ASSERT_TRUE(generate(in_directory_));
  std::filesystem::permissions(path("keys"), std::filesystem::perms(0755));
  const auto said = generate(in_directory_);
  EXPECT_NE(said.error().message.find("chmod 700"), std::string::npos);
}

TEST_F(Keys, AKeyOthersMayReadIsRefused) {
  ASSERT_TRUE(generate(in_directory_));
  std::filesystem::permissions(all()[0].path, std::filesystem::perms(0640));
  EXPECT_NE(show_keys(path("keys"), kNow).error().message.find("chmod 600"), std::string::npos);
}

TEST_F(Keys, ADirectoryHoldsAsManyAsAKeyring) {
  for (std::size_t i = 0; i < auth::kMaxKeys; ++i) ASSERT_TRUE(generate(in_directory_));
  EXPECT_EQ(generate(in_directory_).error().code, base::Code::PreconditionFailed);
  EXPECT_EQ(ring().keys().size(), auth::kMaxKeys);
}

TEST_F(Keys, ErrorsNameTheFileAndNotWhatIsInIt) {
  ASSERT_TRUE(files::write_private_file(path("bad.key"), "ron-key-v1 hunter2\n"));
  const std::string message = show_keys(path("bad.key"), kNow).error().message;
  EXPECT_NE(message.find("bad.key"), std::string::npos);
  EXPECT_EQ(message.find("hunter2"), std::string::npos);
}

TEST_F(Keys, NothingThereIsAnError) {
  EXPECT_EQ(show_keys(path("none"), kNow).error().code, base::Code::NotFound);
  ASSERT_TRUE(files::make_private_directory(path("empty")));
  EXPECT_NE(show_keys(path("empty"), kNow).error().message.find("no *.key"), std::string::npos);
}

}  // namespace
}  // namespace ron::cli
