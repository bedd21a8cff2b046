#include "config/reload.h"

#include <set>

#include <gtest/gtest.h>

#include "config/test_schema.h"

namespace ron::config {
namespace {

using testing::sample_schema;
using testing::storage_section;
using testing::with_file;

std::shared_ptr<const Config> loaded(const std::string& text) {
  return load(sample_schema(), with_file(text)).value();
}

TEST(Diff, SortsChangedKeysByClass) {
  const Changes changes =
      diff(*loaded(""), *loaded("[storage]\nserver.max_rps = 9\nbind = \"h:1\"\ncores = 2\n"));
  ASSERT_EQ(changes.hot.size(), 1U);
  EXPECT_EQ(changes.hot[0].key, "storage.server.max_rps");
  EXPECT_EQ(changes.hot[0].before, "500");
  EXPECT_EQ(changes.hot[0].after, "9");
  ASSERT_EQ(changes.rebind.size(), 1U);
  EXPECT_EQ(changes.rebind[0].key, "storage.bind");
  ASSERT_EQ(changes.restart.size(), 1U);
  EXPECT_EQ(changes.restart[0].key, "storage.cores");
}

TEST(Diff, AValueThatOnlyMovedToAnotherLayerDidNotChange) {
  EXPECT_TRUE(diff(*loaded(""), *loaded("[storage]\nread_timeout = \"5000ms\"\n")).empty());
}

TEST(Diff, SeesChangesInsideRecords) {
  const Changes changes = diff(*loaded(""), *loaded("[[gateway.routes]]\nprefix = \"/o\"\n"
                                                    "upstream = \"inproc:storage\"\n"
                                                    "deadline = \"6s\"\n"));
  ASSERT_EQ(changes.hot.size(), 1U);
  EXPECT_EQ(changes.hot[0].key, "gateway.routes");
}

TEST(Diff, DoesNotShowSecrets) {
  const Changes changes = diff(*loaded("[gateway]\nauth.root_key = \"hunter1\"\n"),
                               *loaded("[gateway]\nauth.root_key = \"hunter2\"\n"));
  ASSERT_EQ(changes.hot.size(), 1U);
  EXPECT_EQ(changes.hot[0].before, "********");
  EXPECT_EQ(changes.hot[0].after, "********");
}

TEST(Diff, AKeyOnOneSideOnlyNeedsARestart) {
  const auto small = load(Schema{}, Inputs{}).value();
  const auto large = loaded("");
  EXPECT_EQ(diff(*small, *large).restart.size(), large->entries().size() - 1);
  EXPECT_EQ(diff(*large, *small).restart.size(), large->entries().size() - 1);
}

TEST(Reload, TakesOverHotAndRebindChanges) {
  const auto result = reload(sample_schema(), *loaded(""),
                             with_file("[storage]\nserver.max_rps = 9\nbind = \"h:1\"\n"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->config->get(storage_section())->server.max_rps, 9U);
  EXPECT_EQ(result->changes.hot.size(), 1U);
  EXPECT_EQ(result->changes.rebind.size(), 1U);
}

TEST(Reload, RefusesAsAWholeWhenAKeyNeedsARestart) {
  const auto result =
      reload(sample_schema(), *loaded(""),
             with_file("[storage]\nserver.max_rps = 9\ncores = 2\namnesia = true\n"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fail, ReloadFail::RestartRequired);
  EXPECT_EQ(result.error().message, "needs restart: storage.cores, storage.amnesia");
}

TEST(Reload, TellsSyntaxFromInvalidValues) {
  const auto syntax = reload(sample_schema(), *loaded(""), with_file("[storage"));
  ASSERT_FALSE(syntax);
  EXPECT_EQ(syntax.error().fail, ReloadFail::Parse);
  const auto invalid = reload(sample_schema(), *loaded(""), with_file("[storage]\ncores = 0"));
  ASSERT_FALSE(invalid);
  EXPECT_EQ(invalid.error().fail, ReloadFail::Invalid);
  EXPECT_NE(invalid.error().message.find("storage.cores"), std::string::npos);
}

TEST(Reload, ReasonsAreDistinctLabels) {
  std::set<std::string_view> labels;
  for (const ReloadFail fail : all_reload_fails()) labels.insert(reason(fail));
  EXPECT_EQ(labels,
            (std::set<std::string_view>{"parse", "invalid", "restart_required", "io", "rebind"}));
}

}  // namespace
}  // namespace ron::config
