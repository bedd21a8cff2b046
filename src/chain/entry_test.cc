#include "chain/entry.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "chain/test_signers.h"

namespace ron::chain {
namespace {

using base::Value;
using testing::node_value;
using testing::set_of;
using testing::TestLog;
using testing::update_value;

Entry sample() {
  TestLog log(set_of(1, {1, 2}));
  Entry entry = log.draft(update_value({node_value("a")}));
  log.approve(entry, {1, 2});
  return entry;
}

TEST(Entry, RoundTrips) {
  const Entry entry = sample();
  const auto decoded = decode_entry(base::as_bytes(encode(entry)));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, entry);
}

TEST(Entry, IsTheDeterministicCborOfItsFields) {
  const Entry entry = sample();
  Value::Array approvals;
  for (const Approval& approval : entry.approvals) {
    approvals.emplace_back(Value::Map{{"signer", approval.signer},
                                      {"sig", Value(base::ByteView(approval.signature))}});
  }
  const Value value = Value::Map{{"version", entry.version},
                                 {"prev", Value(base::ByteView(entry.prev.digest()))},
                                 {"proposal", entry.proposal.text()},
                                 {"payload", Value(base::as_bytes(entry.payload))},
                                 {"approvals", std::move(approvals)},
                                 {"at", static_cast<std::uint64_t>(entry.at_ms)},
                                 {"expires", static_cast<std::uint64_t>(entry.expires_ms)}};
  EXPECT_EQ(encode(entry), base::encode_cbor(value));
}

TEST(Entry, EveryFlippedBitIsRefusedOrAnotherEntry) {
  const std::string bytes = encode(sample());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string bad = bytes;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    const auto decoded = decode_entry(base::as_bytes(bad));
    if (decoded) EXPECT_EQ(encode(*decoded), bad);
  }
}

TEST(Entry, ApprovalsAreSortedAndNobodyIsThereTwice) {
  Entry entry = sample();
  std::swap(entry.approvals[0], entry.approvals[1]);
  EXPECT_FALSE(decode_entry(base::as_bytes(encode(entry))));
  entry.approvals[0] = entry.approvals[1];
  EXPECT_FALSE(decode_entry(base::as_bytes(encode(entry))));
}

TEST(ApprovalText, IsWhatTheContractSays) {
  const std::string zeros(64, '0');
  EXPECT_EQ(approval_text({}, "01ARZ3NDEKTSV4RRFFQ69G5FAV", {}, 1'700'000'000'000),
            "ron-registry/approval/v1\nlog b3:" + zeros +
                "\nproposal 01ARZ3NDEKTSV4RRFFQ69G5FAV\npayload b3:" + zeros +
                "\nexpires 2023-11-14T22:13:20Z\n");
}

TEST(Change, UnknownFieldsAreRefusedByName) {
  const auto refused = [](std::string_view json) {
    const auto value = base::parse_json(json);
    EXPECT_TRUE(value) << json;
    const auto payload = parse_payload(*value);
    return payload ? std::string() : payload.error().message;
  };
  EXPECT_NE(refused(R"({"change":{"kind":"update","set":[{"type":"node","id":"a","rgion":"x"}]}})")
                .find("rgion"),
            std::string::npos);
  EXPECT_NE(refused(R"({"change":{"kind":"update","set":[]},"why":"x"})").find("why"),
            std::string::npos);
  EXPECT_NE(refused(R"({"change":{"kind":"update"}})"), "");
  EXPECT_NE(refused(R"({"change":{"kind":"updates"}})"), "");
  EXPECT_NE(refused(R"({"change":{"kind":"update","set":[{"type":"node","id":"A"}]}})"), "");
  EXPECT_NE(refused(R"({"change":{"kind":"update","remove":["node"]}})"), "");
  EXPECT_NE(
      refused(
          R"({"change":{"kind":"update","set":[{"type":"node","id":"a"}],"remove":["node/a"]}})"),
      "");
  EXPECT_NE(refused(R"({"change":{"kind":"revoke","signers":["x"],"reason":"r"}})"), "");
  EXPECT_NE(refused(R"({"change":{"kind":"supersede","version":1,"reason":"r",
                     "change":{"kind":"supersede","version":1,"reason":"r","change":{}}}})"),
            "");
  EXPECT_EQ(refused(R"({"change":{"kind":"update","set":[{"type":"placement","id":"p",
                     "regions":["eu"],"replication_factor":2}]},"reason":"ok"})"),
            "");
}

}  // namespace
}  // namespace ron::chain
