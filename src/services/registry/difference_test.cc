#include "services/registry/difference.h"

#include <gtest/gtest.h>

#include "chain/test_signers.h"

namespace ron::registry {
namespace {

using base::Value;
using chain::testing::node_value;
using chain::testing::payload_value;
using chain::testing::set_of;
using chain::testing::signer_of;
using chain::testing::signers_value;
using chain::testing::TestLog;
using chain::testing::update_value;

chain::Payload payload_of(const Value& change) {
  return *chain::parse_payload(payload_value(change));
}

Value changed(std::string_view what, Value before, Value after) {
  return Value::Map{{"what", what}, {"before", std::move(before)}, {"after", std::move(after)}};
}

TEST(Difference, SaysWhatComesChangesAndGoes) {
  TestLog log(set_of(1, {1, 2}));
  ASSERT_TRUE(log.add(update_value({node_value("a"), node_value("b"), node_value("c")}), {1}));
  const Value found =
      difference(log.state(),
                 payload_of(update_value({node_value("a", "us"), node_value("c"), node_value("d")},
                                         {"node/b", "node/none"})));
  EXPECT_EQ(found, Value(Value::Array{changed("node/a", node_value("a"), node_value("a", "us")),
                                      changed("node/b", node_value("b"), nullptr),
                                      changed("node/d", nullptr, node_value("d"))}));
}

TEST(Difference, NamesSignersAndTheThreshold) {
  TestLog log(set_of(2, {1, 2, 3}));
  const auto list =
      difference(log.state(), payload_of(signers_value("signers", set_of(1, {1, 2}))));
  EXPECT_EQ(list, Value(Value::Array{
                      changed("signer/" + signer_of(3).id, chain::to_value(signer_of(3)), nullptr),
                      changed("threshold", 2, 1)}));
}

TEST(Difference, OfAChangeThatDoesNotFitThereIsNone) {
  TestLog log(set_of(2, {1, 2, 3}));
  EXPECT_EQ(difference(log.state(), payload_of(Value::Map{{"kind", "supersede"},
                                                          {"version", 7},
                                                          {"reason", "x"},
                                                          {"change", update_value({})}})),
            Value(Value::Array{}));
}

TEST(Difference, SaysHowLargeIsWhatWouldBeTooMuch) {
  TestLog log(set_of(1, {1, 2}));
  ASSERT_TRUE(log.add(update_value({node_value("a"), node_value("b")}), {1}));
  const std::size_t bytes = base::encode_cbor(node_value("a")).size();
  const Value found = difference(
      log.state(), payload_of(update_value({node_value("c")}, {"node/a", "node/b"})), bytes);
  const auto omitted = [](std::string_view what, Value before, Value after) {
    return Value(Value::Map{
        {"what", what}, {"before_bytes", std::move(before)}, {"after_bytes", std::move(after)}});
  };
  EXPECT_EQ(found, Value(Value::Array{changed("node/a", node_value("a"), nullptr),
                                      omitted("node/b", Value(bytes), Value()),
                                      omitted("node/c", Value(), Value(bytes))}));
}

}  // namespace
}  // namespace ron::registry
