// The registry's safety as a property of random histories; `sim/registry_history_sim` runs more.
#include <gtest/gtest.h>

#include "services/registry/test_history.h"

namespace ron::registry {
namespace {

constexpr std::uint64_t kHistories = 3000;

TEST(Histories, NoVersionWithoutQuorumAndNothingAcknowledgedIsLost) {
  Keyring keys;
  HistoryCounts total;
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    History history(seed, keys);
    ASSERT_EQ(history.run(), "") << "replay with: build/release/sim/registry_history_sim --seed "
                                 << seed << " --trace";
    total.add(history.counts());
  }
  // That they got somewhere: what happens only now and then is not tested.
  EXPECT_GT(total.commits, 3 * kHistories);
  EXPECT_GT(total.repeated, 300U);
  EXPECT_GT(total.withdrawn, 300U);
  EXPECT_GT(total.rotations, 300U);
  EXPECT_GT(total.revocations, 300U);
  EXPECT_GT(total.supersedes, 300U);
  EXPECT_GT(total.crashes, kHistories);
  EXPECT_GT(total.refused_batches, 300U);
  EXPECT_GT(total.lost_versions, 300U);
  EXPECT_GT(total.found_versions, 100U);
  for (const char* const refusal :
       {"propose NotAllowed", "propose Malformed", "propose ChainMismatch", "propose VersionSkew",
        "propose RevokedKey", "propose Busy", "approve NotAllowed", "approve RevokedKey",
        "approve InvalidSig", "approve DuplicateApproval", "approve VersionSkew",
        "approve NotFound", "approve ChainMismatch", "commit QuorumFailed", "commit ChainMismatch",
        "commit VersionSkew", "commit NotFound", "withdraw Forbidden", "withdraw VersionSkew"}) {
    EXPECT_GT(total.refusals[refusal], 20U) << refusal;
  }
}

TEST(Histories, TheSameSeedIsTheSameHistory) {
  Keyring keys;
  History once(7, keys);
  History again(7, keys);
  EXPECT_EQ(once.run(), "");
  EXPECT_EQ(again.run(), "");
  EXPECT_EQ(once.hash(), again.hash());
}

class HistoriesWithABug : public testing::TestWithParam<HistoryPlantName> {};

TEST_P(HistoriesWithABug, AreFoundOut) {
  Keyring keys;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const std::string violation = History(seed, keys, GetParam().plant).run();
    if (violation.empty()) continue;
    std::printf("%s: found at seed %llu: %s\n", std::string(GetParam().name).c_str(),
                static_cast<unsigned long long>(seed), violation.c_str());
    EXPECT_EQ(History(seed, keys).run(), "") << "the seed is not clean without the bug";
    return;
  }
  FAIL() << GetParam().help << ", and 300 histories do not find it";
}

INSTANTIATE_TEST_SUITE_P(Plants, HistoriesWithABug, testing::ValuesIn(kHistoryPlants),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace ron::registry
