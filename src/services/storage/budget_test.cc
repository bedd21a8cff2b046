#include "services/storage/budget.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "config/load.h"
#include "http/codecs.h"
#include "platform/tls.h"

namespace ron::storage {
namespace {

using kit::Addend;
using kit::total_bytes;

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

Addend addend_of(const StorageConfig& config, std::string_view what) {
  for (Addend& addend : memory_budget(config, 2)) {
    if (addend.what.starts_with(what)) return std::move(addend);
  }
  ADD_FAILURE() << what;
  return {};
}

// A connection holds the object it is sent, which the memory tier had room for and has let go of.
TEST(Budget, CountsObjectsThatReadersKeep) {
  const auto kept = [](const std::string& cache) {
    return addend_of(*loaded({"storage.amnesia=false", "storage.max_conns=7",
                              "storage.server.max_inflight=3", "storage.cache_bytes=" + cache}),
                     "objects that left");
  };
  EXPECT_EQ(kept("0").bytes(), 0U);
  EXPECT_EQ(kept("4MiB").bytes(), 7 * 4 * base::kMiB);
  EXPECT_EQ(kept("1GiB").bytes(), 7 * base::limits::kDecodedBytes);
}

TEST(Budget, CountsWhatTlsHoldsForEachConnection) {
  const Addend tls = addend_of(
      *loaded({"storage.tls.cert_path=c", "storage.tls.key_path=k", "storage.max_conns=7"}), "TLS");
  EXPECT_EQ(tls.bytes(), 2 * 7 * platform::kTlsStreamBytes);
}

// One on each core and on the operators' listener, each with its window and what it has decoded.
TEST(Budget, CountsDecodersAtOnce) {
  const Addend decoding =
      addend_of(*loaded({"storage.limits.decode_abs_cap_bytes=8MiB"}), "bodies being decoded");
  EXPECT_EQ(decoding.count, 3U);
  EXPECT_GE(decoding.each_bytes, http::decoder_bytes(8 * base::kMiB) + 3 * 8 * base::kMiB);
  EXPECT_EQ(http::decoder_bytes(8 * base::kMiB), 30 * base::kMiB);
  EXPECT_EQ(http::decoder_bytes(0), http::kZstdBytes);
}

}  // namespace
}  // namespace ron::storage
