#include "cli/upload_state.h"

#include <filesystem>
#include <fstream>

#include "cli/test_support.h"

namespace ron::cli {
namespace {

using UploadStatesTest = testing::InScratch;

const UploadKey kKey{"http://127.0.0.1:8081", "/home/me/film", 5 << 20, 1'700'000'000'123'456'789};

TEST_F(UploadStatesTest, RemembersAnUploadUntilItIsForgotten) {
  const UploadStates states(path("state/ron/uploads"));
  EXPECT_EQ(states.find(kKey), std::nullopt);
  ASSERT_TRUE(states.remember(kKey, "01UPLOAD"));
  EXPECT_EQ(states.find(kKey), "01UPLOAD");
  ASSERT_TRUE(states.remember(kKey, "02UPLOAD"));
  EXPECT_EQ(states.find(kKey), "02UPLOAD");
  states.forget(kKey);
  EXPECT_EQ(states.find(kKey), std::nullopt);
}

TEST_F(UploadStatesTest, AnotherServerFileOrVersionIsAnotherUpload) {
  const UploadStates states(path("uploads"));
  ASSERT_TRUE(states.remember(kKey, "01UPLOAD"));
  UploadKey other = kKey;
  other.url = "http://127.0.0.1:8082";
  EXPECT_FALSE(states.find(other));
  other = kKey;
  other.path += "2";
  EXPECT_FALSE(states.find(other));
  other = kKey;
  other.bytes += 1;
  EXPECT_FALSE(states.find(other));
  other = kKey;
  other.modified_ns += 1;
  EXPECT_FALSE(states.find(other));
}

TEST_F(UploadStatesTest, NobodyElseMayReadThem) {
  const UploadStates states(path("uploads"));
  ASSERT_TRUE(states.remember(kKey, "01UPLOAD"));
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(path("uploads")).permissions(), fs::perms::owner_all);
  for (const auto& entry : fs::directory_iterator(path("uploads"))) {
    EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
}

TEST_F(UploadStatesTest, ADamagedFileCountsAsNone) {
  const UploadStates states(path("uploads"));
  ASSERT_TRUE(states.remember(kKey, "01UPLOAD"));
  for (const auto& entry : std::filesystem::directory_iterator(path("uploads"))) {
    for (const char* text : {"", "{", "[]", "{\"upload\":7}"}) {
      std::ofstream(entry.path(), std::ios::trunc) << text;
      EXPECT_EQ(states.find(kKey), std::nullopt) << text;
    }
  }
}

TEST_F(UploadStatesTest, AreKeptWhereTheUserWantsThem) {
  EXPECT_FALSE(UploadStates::of_user({}));
  EXPECT_FALSE(UploadStates::of_user({{"XDG_STATE_HOME", "relative"}}));
  const auto at_home = UploadStates::of_user({{"HOME", path("home")}});
  ASSERT_TRUE(at_home && at_home->remember(kKey, "x"));
  EXPECT_TRUE(std::filesystem::exists(path("home/.local/state/ron/uploads")));
  const auto named =
      UploadStates::of_user({{"HOME", path("home")}, {"XDG_STATE_HOME", path("named")}});
  ASSERT_TRUE(named && named->remember(kKey, "x"));
  EXPECT_TRUE(std::filesystem::exists(path("named/ron/uploads")));
}

}  // namespace
}  // namespace ron::cli
