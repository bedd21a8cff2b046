#include "services/storage/budget.h"

#include <gtest/gtest.h>

#include "base/limits.h"
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
  const auto budget = memory_budget(*config, 2);
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
    return total_bytes(memory_budget(*loaded({flag}), 2));
  };
  const std::uint64_t before = total("storage.amnesia=true");
  for (const char* flag :
       {"storage.cache_bytes=1GiB", "storage.server.max_inflight=1024", "storage.max_conns=4096",
        "storage.channels.work=1024", "storage.channels.events=2048",
        "storage.uploads.max_open=2000", "storage.amnesia=false"}) {
    EXPECT_GT(total(flag), before) << flag;
  }
}

// What a request holds: a body, or an object the memory tier had room for and has let go of.
TEST(Budget, CountsObjectsThatReadersKeep) {
  const auto each = [](const std::string& cache) {
    const auto config = loaded({"storage.amnesia=false", "storage.limits.decode_abs_cap_bytes=1KiB",
                                "storage.cache_bytes=" + cache});
    for (const Addend& addend : memory_budget(*config, 2)) {
      if (addend.what.starts_with("bodies")) return addend.each_bytes;
    }
    return std::uint64_t{0};
  };
  EXPECT_EQ(each("0"), base::kMiB);
  EXPECT_EQ(each("4MiB"), 4 * base::kMiB);
  EXPECT_EQ(each("1GiB"), base::limits::kDecodedBytes);
}

}  // namespace
}  // namespace ron::storage
