#include "app/data_directory.h"

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
    EXPECT_TRUE(keep_admin_token(directory_, **keyring, random_, kNow));
    return *keyring;
  }
  std::string token() { return files::read_small_file(directory_.admin_token(), 4096).value(); }

  DataDirectory directory_{path("data")};
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
}

TEST_F(DataDirectoryTest, TheNextStartChangesNothing) {
  const std::string active = started()->active().id;
  const std::string before = token();
  EXPECT_EQ(started()->active().id, active);
  EXPECT_EQ(token(), before);
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
