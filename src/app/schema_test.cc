#include "app/schema.h"

#include <gtest/gtest.h>

#include "config/load.h"
#include "services/edge/config.h"
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

TEST(AppSchema, EdgeKeysHaveTheSpellingsOfItsSpecification) {
  using namespace std::chrono_literals;
  config::Inputs inputs;
  inputs.file_text =
      "[edge.ingress]\ntimeout_secs = 2\nmax_inflight = 7\nrps_limit = 8\nbody_bytes = 65536\n"
      "decompress_max_ratio = 4\ndecompress_abs_bytes = 1048576\n"
      "[edge.retry.live_fill]\nbase_ms = 20\nmax_ms = 300\nmax_retries = 4\njitter = false\n";
  const auto outcome = config::load(schema(), inputs);
  ASSERT_TRUE(outcome) << outcome.error().text();
  const auto config = (*outcome)->get(edge::edge_section());
  EXPECT_EQ(config->server.read_timeout, 2s);
  EXPECT_EQ(config->server.max_inflight, 7U);
  EXPECT_EQ(config->server.max_rps, 8U);
  EXPECT_EQ(config->server.max_body_bytes.bytes, 64 * base::kKiB);
  EXPECT_EQ(config->server.decode_ratio_max, 4U);
  EXPECT_EQ(config->server.decode_abs_cap_bytes.bytes, base::kMiB);
  EXPECT_EQ(config->fill.base, 20ms);
  EXPECT_EQ(config->fill.max, 300ms);
  EXPECT_EQ(config->fill.max_tries, 5U);
  EXPECT_FALSE(config->fill.jitter);
  inputs.file_text += "[edge.fill]\nbase = \"20ms\"\n";
  EXPECT_FALSE(config::load(schema(), inputs)) << "both spellings at once";
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
