#include "chain/log_check.h"

#include <gtest/gtest.h>

#include "chain/test_signers.h"

namespace ron::chain {
namespace {

using testing::node_value;
using testing::set_of;
using testing::TestLog;
using testing::update_value;

std::vector<Problem> problems_of(const std::vector<std::string>& entries) {
  std::vector<Problem> problems;
  LogCheck check([&](const Problem& problem) { problems.push_back(problem); });
  for (std::uint64_t version = 0; version < entries.size(); ++version) {
    check.take(version, base::as_bytes(entries[version]));
  }
  check.finish();
  return problems;
}

TEST(LogCheck, AProposalIsCommittedOnce) {
  TestLog log(set_of(2, {1, 2, 3}));
  ASSERT_TRUE(log.add(update_value({node_value("a")}), {1, 2}));
  ASSERT_TRUE(log.add(update_value({}, {"node/a"}), {1, 2}));
  EXPECT_EQ(problems_of(log.entries()), std::vector<Problem>());
  // Approved once, and put in again by whoever writes the log: every other rule is kept.
  Entry again = *decode_entry(base::as_bytes(log.entries()[1]));
  again.version = 3;
  again.prev = log.state().head().hash;
  again.at_ms += 10;
  ASSERT_TRUE(log.take(encode(again)));
  EXPECT_EQ(
      problems_of(log.entries()),
      (std::vector<Problem>{{"version 3", "its proposal was committed before, as version 1"}}));
}

TEST(CommittedProposals, ForgetsWhatHasExpired) {
  CommittedProposals committed;
  Entry entry;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    entry.version = i;
    entry.proposal = base::Ulid(i, 0, i);
    entry.at_ms = static_cast<std::int64_t>(i) * 1000;
    entry.expires_ms = entry.at_ms + 10'000;
    EXPECT_FALSE(committed.add(entry));
  }
  entry.proposal = base::Ulid(4999, 0, 4999);
  EXPECT_EQ(committed.add(entry), 4999);
}

}  // namespace
}  // namespace ron::chain
