#include "app/data_directory.h"

#include <array>

#include <gtest/gtest.h>

#include "app/keys.h"
#include "auth/capability.h"
#include "cli/test_support.h"
#include "platform/posix/files.h"
#include "services/storage/config.h"

namespace ron::app {
namespace {

namespace files = platform::posix;
using cli::testing::kNow;

class DataDirectoryTest : public cli::testing::InScratch {
 protected:
  std::shared_ptr<const auth::Keyring> started(const kit::AuthConfig& config = {}) {
    EXPECT_TRUE(prepare(directory_, config, random_, kNow));
    const auto keyring = load_keyring(directory_.auth(config), random_, kNow);
    EXPECT_TRUE(keyring) << keyring.error().message;
    const auto kept = keep_admin_token(directory_, **keyring, random_, kNow);
    EXPECT_TRUE(kept) << kept.error().message;
    has_replaced_ = kept.value_or(false);
    return *keyring;
  }
  std::string token() { return files::read_small_file(directory_.admin_token(), 4096).value(); }

  // Whether the token that is there lets its holder name any tenant.
  bool is_any_tenants(const auth::Keyring& keyring) {
    std::string text = token();
    text.pop_back();
    const auto verified = auth::verify_token(keyring, text);
    return verified && verified->grant.is_any_tenants();
  }

  DataDirectory directory_{path("data")};
  bool has_replaced_ = false;
};

TEST_F(DataDirectoryTest, TheFirstStartMakesAKeyAndATokenNobodyElseMayRead) {
  const auto keyring = started();
  EXPECT_EQ(keyring->keys().size(), 1U);
  EXPECT_EQ(files::file_mode(directory_.path).value(), 0700U);
  EXPECT_EQ(files::file_mode(directory_.keys()).value(), 0700U);
  EXPECT_EQ(files::file_mode(directory_.admin_token()).value(), 0600U);
  std::string text = token();
  text.pop_back();
  EXPECT_TRUE(auth::verify_token(*keyring, text));
  EXPECT_TRUE(is_any_tenants(*keyring));
  EXPECT_FALSE(has_replaced_);
}

TEST_F(DataDirectoryTest, TheNextStartChangesNothing) {
  const std::string active = started()->active().id;
  const std::string before = token();
  EXPECT_EQ(started()->active().id, active);
  EXPECT_EQ(token(), before);
  EXPECT_FALSE(has_replaced_);
}

TEST_F(DataDirectoryTest, ATokenThatMayNotNameAnyTenantIsReplaced) {
  const auto keyring = started();
  const auth::RootKey& key = keyring->active();
  constexpr std::array<std::byte, auth::kNonceBytes> kNonce{};
  const auto minted = [&key, &kNonce](const auth::Tenancy& tenancy) {
    return auth::Macaroon::mint(key.secret.bytes(),
                                auth::print_token_identifier(key.id, kNonce, tenancy),
                                auth::kTokenLocation)
        .value();
  };
  using auth::Tenancy;
  for (const auth::Macaroon& old :
       {minted(Tenancy::unsaid()), minted(Tenancy::nobody()), minted(Tenancy::named("acme")),
        minted(Tenancy::any()).attenuate("tenant = acme").value()}) {
    ASSERT_TRUE(files::write_private_file(directory_.admin_token(), old.text() + "\n"));
    EXPECT_TRUE(is_any_tenants(*started()));
    EXPECT_TRUE(has_replaced_);
    EXPECT_EQ(files::file_mode(directory_.admin_token()).value(), 0600U);
  }
  ASSERT_TRUE(
      files::write_private_file(directory_.admin_token(), minted(Tenancy::any()).text() + "\n"));
  started();
  EXPECT_FALSE(has_replaced_);
}

TEST_F(DataDirectoryTest, ATokenTheKeysDoNotHonourIsReplaced) {
  started();
  ASSERT_TRUE(files::write_private_file(directory_.admin_token(), "stale\n"));
  const auto keyring = started();
  std::string text = token();
  text.pop_back();
  EXPECT_TRUE(auth::verify_token(*keyring, text));
}

TEST_F(DataDirectoryTest, KeysThatOthersMayEnterOrReadAreRefusedWithWhatToDo) {
  ASSERT_TRUE(files::make_private_directory(directory_.keys()));
  std::filesystem::permissions(directory_.keys(), std::filesystem::perms(0755));
  const auto open = prepare(directory_, {}, random_, kNow);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message.find("chmod 700 '" + directory_.keys() + "'"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.keys())) << "no key was put there";
  std::filesystem::permissions(directory_.keys(), std::filesystem::perms(0700));
  const std::string active = started()->active().id;
  std::filesystem::permissions(directory_.keys(), std::filesystem::perms(0710));
  EXPECT_FALSE(prepare(directory_, {}, random_, kNow)) << "on later starts, too";
  kit::AuthConfig configured;
  configured.keys_dir = directory_.keys();
  EXPECT_FALSE(load_keyring(configured, random_, kNow)) << "wherever the keys are";
  std::filesystem::permissions(directory_.keys(), std::filesystem::perms(0700));
  const std::string key = directory_.keys() + "/" + active + ".key";
  std::filesystem::permissions(key, std::filesystem::perms(0644));
  const auto readable = load_keyring(configured, random_, kNow);
  ASSERT_FALSE(readable);
  EXPECT_NE(readable.error().message.find("chmod 600 '" + key + "'"), std::string::npos);
}

TEST_F(DataDirectoryTest, OnlyTheFirstStartIsTheFirst) {
  EXPECT_TRUE(prepare(directory_, {}, random_, kNow).value());
  started();
  EXPECT_FALSE(prepare(directory_, {}, random_, kNow).value());
}

TEST_F(DataDirectoryTest, ConfiguredPlacesComeFirst) {
  kit::AuthConfig auth;
  auth.keys_dir = path("elsewhere");
  EXPECT_EQ(directory_.auth(auth).keys_dir, path("elsewhere"));
  storage::StorageConfig config;
  const std::string part = directory_.of("storage");
  EXPECT_EQ(storage::object_directories(config, part), std::vector{directory_.path + "/storage"});
  config.data_dirs = {"a", "b"};
  EXPECT_EQ(storage::object_directories(config, part), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace ron::app
