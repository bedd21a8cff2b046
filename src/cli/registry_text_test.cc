#include "cli/registry_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/value.h"

namespace ron::cli {
namespace {

using base::Value;
using ::testing::HasSubstr;
using ::testing::Not;

chain::Payload payload_of(const char* json) {
  const auto value = base::parse_json(json);
  auto payload = chain::parse_payload(*value);
  EXPECT_TRUE(payload) << payload.error().message;
  return std::move(*payload);
}

TEST(RegistryText, AChangeIsALineForEachThing) {
  EXPECT_EQ(
      change_text(payload_of(R"({"change":{"kind":"update","set":[{"type":"region","id":"eu"}],
                                      "remove":["node/n1"]},"reason":"more room"})")),
      "update\n"
      "  set region/eu  {\"id\":\"eu\",\"type\":\"region\"}\n"
      "  remove node/n1\n"
      "  reason: more room\n");
  EXPECT_EQ(change_text(payload_of(
                R"({"change":{"kind":"supersede","version":3,"reason":"a typo",
                    "change":{"kind":"update","set":[],"remove":["node/n1"]}}})")),
            "supersede\n"
            "  undoes version 3, because: a typo\n"
            "  and instead: update\n"
            "  remove node/n1\n");
}

TEST(RegistryText, ADifferenceShowsBeforeAndAfter) {
  const auto difference = base::parse_json(
      R"([{"what":"node/a","before":{"id":"a"},"after":{"id":"b"}},
          {"what":"node/c","before":null,"after":1},
          {"what":"node/d","before_bytes":700,"after_bytes":null}])");
  EXPECT_EQ(difference_text(*difference),
            "  - node/a  {\"id\":\"a\"}\n"
            "  + node/a  {\"id\":\"b\"}\n"
            "  + node/c  1\n"
            "  ~ node/d  too large to show: 700 bytes become 0\n");
  EXPECT_EQ(difference_text(Value()), "  nothing\n");
}

TEST(RegistryText, WhatAServerSendsDoesNothingToATerminal) {
  const Value document = Value::Map{{"proposal", "\x1b[2J"}, {"kind", "a\nb"}};
  const std::string text = proposal_line(document);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST(RegistryText, OldAndNewSignersAreCountedEachForThemselves) {
  const auto update = base::parse_json(
      R"({"proposal":"P","kind":"update","threshold":2,"fits_head":true,"ready":false,
          "expires_at":"T","approvals":[{"signer":"a"}]})");
  EXPECT_EQ(proposal_line(*update),
            "P  update  1 of 2 approvals  waits for approvals  expires T\n");
  EXPECT_EQ(tally_text(*base::parse_json(R"({"approvals":3,"threshold":2})")),
            "3 where it takes 2");
  EXPECT_EQ(wanted_text(*update), "2 signers");

  const auto rotation = base::parse_json(
      R"({"proposal":"P","kind":"signers","threshold":2,"fits_head":true,"ready":false,
          "have":1,"have_new":3,"need_new":4,
          "expires_at":"T","approvals":[{"signer":"a"},{"signer":"b"},{"signer":"c"}]})");
  EXPECT_EQ(proposal_line(*rotation),
            "P  signers  1 of 2 from the old signers, 3 of 4 from the new ones  waits for "
            "approvals  expires T\n");
  EXPECT_THAT(proposal_text(*rotation),
              HasSubstr("\n1 of 2 from the old signers, 3 of 4 from the new ones, waits for "));
  EXPECT_EQ(tally_text(*rotation), "1 of 2 from the old signers, 3 of 4 from the new ones");
  EXPECT_EQ(wanted_text(*rotation), "2 of the old signers and 4 of the new ones,");
}

TEST(RegistryText, ApproversHaveNames) {
  chain::Entry entry;
  entry.version = 4;
  entry.approvals = {{"0123456789abcdef", {}}, {"fedcba9876543210", {}}};
  const SignerNames names{{"0123456789abcdef", "alice"}};
  const std::string text = entry_text(entry, {}, names);
  EXPECT_THAT(text, HasSubstr("approved by 0123456789abcdef  alice\n"));
  EXPECT_THAT(text, HasSubstr("approved by fedcba9876543210\n"));
}

}  // namespace
}  // namespace ron::cli
