#include "services/storage/budget.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace ron::storage {
namespace {

std::shared_ptr<const StorageConfig> loaded(const std::vector<std::string>& flags) {
  config::Schema schema;
  schema.add(storage_section());
  config::Inputs inputs;
  inputs.flags = {"storage.amnesia=true"};
  inputs.flags.insert(inputs.flags.end(), flags.begin(), flags.end());
  const auto config = config::load(schema, inputs);
  EXPECT_TRUE(config) << config.error().text();
  return (*config)->get(storage_section());
}

TEST(Budget, IsTheSumOfItsAddends) {
  const auto config = loaded({"storage.cache_bytes=1GiB"});
  const auto budget = memory_budget(*config);
  std::uint64_t sum = 0;
  for (const Addend& addend : budget) {
    EXPECT_GT(addend.bytes(), 0U) << addend.what;
    sum += addend.bytes();
  }
  EXPECT_EQ(total_bytes(budget), sum);
  EXPECT_EQ(budget[0].bytes(), base::kGiB);
}

TEST(Budget, GrowsWithEveryLimitItNames) {
  const auto total = [](const std::string& flag) {
    return total_bytes(memory_budget(*loaded({flag})));
  };
  const std::uint64_t before = total("storage.amnesia=true");
  for (const char* flag :
       {"storage.cache_bytes=1GiB", "storage.server.max_inflight=1024", "storage.max_conns=4096",
        "storage.channels.work=1024", "storage.channels.events=2048",
        "storage.uploads.max_open=2000", "storage.amnesia=false"}) {
    EXPECT_GT(total(flag), before) << flag;
  }
}

}  // namespace
}  // namespace ron::storage
