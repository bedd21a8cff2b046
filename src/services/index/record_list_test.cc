#include "services/index/record_list.h"

#include <string>

#include <gtest/gtest.h>

#include "services/index/test_targets.h"

namespace ron::index {
namespace {

using namespace test;
using catalog::ProviderRecord;

ProviderRecord sample(std::uint8_t node) {
  return record_of(node_key(node), address(1), 1'750'000'100'000);
}

TEST(RecordList, IsReadAsItWasWritten) {
  const std::vector<ProviderRecord> records = {sample(1), sample(2)};
  EXPECT_EQ(decode_records(base::as_bytes(encode_records(records))).value(), records);
  EXPECT_TRUE(decode_records(base::as_bytes(encode_records({}))).value().empty());
}

TEST(RecordList, HoldsNoMoreThanItsBound) {
  const std::vector<ProviderRecord> records(kMaxListedRecords + 1, sample(1));
  const std::string list = encode_records(records);
  EXPECT_LE(list.size(), kMaxRecordListBytes);
  EXPECT_EQ(decode_records(base::as_bytes(list)).value().size(), kMaxListedRecords);
}

TEST(RecordList, AnythingElseIsRefused) {
  std::string list = encode_records(std::vector{sample(1)});
  EXPECT_FALSE(decode_records(base::as_bytes(list + "x")));
  EXPECT_FALSE(decode_records(base::as_bytes(list.substr(0, list.size() - 1))));
  list[10] = static_cast<char>(list[10] ^ 1);
  EXPECT_FALSE(decode_records(base::as_bytes(list)));
  EXPECT_FALSE(decode_records(base::as_bytes("")));
  EXPECT_FALSE(decode_records(base::as_bytes("\x18\x41")));
}

}  // namespace
}  // namespace ron::index
