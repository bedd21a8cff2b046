#include "app/schema.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "services/storage/config.h"

namespace ron::app {
namespace {

TEST(AppSchema, DeclarationsAreClean) {
  EXPECT_EQ(config::check_declarations(schema()).text(), "");
}

TEST(AppSchema, StorageKeysHaveTheirLongSpelling) {
  config::Inputs inputs;
  inputs.file_text = "[storage.storage]\namnesia = true\ncache_bytes = \"1GiB\"\n";
  const auto outcome = config::load(schema(), inputs);
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_TRUE((*outcome)->get(storage::storage_section())->amnesia);
  EXPECT_EQ((*outcome)->get(storage::storage_section())->cache_bytes.bytes, base::kGiB);
}

TEST(AppSchema, SectionsOfOtherServicesAreAcceptedUnread) {
  config::Inputs inputs;
  inputs.file_text = "[storage]\nnonsense = 1\n";
  EXPECT_FALSE(config::load(schema(), inputs));
  const config::Schema without = schema_of({});
  EXPECT_TRUE(config::load(without, inputs));
  inputs.file_text = "[log]\nnonsense = 1\n";
  EXPECT_FALSE(config::load(without, inputs));
}

}  // namespace
}  // namespace ron::app
