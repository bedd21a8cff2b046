#include "platform/contract_world.h"

namespace ron::platform::test {
namespace {

using Answer = base::Result<std::vector<Endpoint>>;

class ResolverContract : public Contract {};
INSTANTIATE_TEST_SUITE_P(Worlds, ResolverContract, testing::ValuesIn(contract_cases()), case_name);

Task<void> ask(Resolver* resolver, std::string host, Answer* out) {
  *out = co_await resolver->resolve(std::move(host), 8081);
}

Answer answer_of(ContractWorld& world, const std::string& host) {
  const Host machine = world.client();
  Answer answer = base::fail(base::Code::Internal, "not asked");
  EXPECT_TRUE(world.run(ask(&machine.resolver, host, &answer)));
  return answer;
}

TEST_P(ResolverContract, AnAddressStandsForItself) {
  in_each_world([](ContractWorld& world) {
    const Answer answer = answer_of(world, "10.1.2.3");
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(*answer, std::vector{*Endpoint::parse("10.1.2.3:8081")});
  });
}

TEST_P(ResolverContract, LocalhostIsThisMachine) {
  in_each_world([](ContractWorld& world) {
    const Answer answer = answer_of(world, "localhost");
    ASSERT_TRUE(answer.has_value());
    for (const Endpoint& endpoint : *answer) {
      EXPECT_TRUE(endpoint.is_loopback()) << endpoint.text();
      EXPECT_EQ(endpoint.port, 8081);
    }
  });
}

// Refused by its form: no name service is asked.
TEST_P(ResolverContract, WhatCannotBeANameIsNotFoundAndTheErrorRepeatsIt) {
  in_each_world([](ContractWorld& world) {
    const std::string name("no\0host", 7);
    const Answer answer = answer_of(world, name);
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, base::Code::NotFound);
    EXPECT_NE(answer.error().message.find(name), std::string::npos);
  });
}

}  // namespace
}  // namespace ron::platform::test
