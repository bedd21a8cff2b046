// Client: one node of users. Opens connections and talks over them, well or badly, as its dice say.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "platform/sim/node.h"
#include "platform/test_support.h"
#include "sim/harness/talk.h"

namespace ron::sim {

// Lives as long as the scene. Its sessions end by themselves: each is a bounded number of requests,
// and every wait has a deadline.
class Client {
 public:
  Client(Scene& scene, platform::sim::Node& node, const ClientPlan& plan, std::size_t number);

  [[nodiscard]] bool done() const;
  // What its sessions are doing; for a client that does not end.
  [[nodiscard]] std::string text() const { return "client " + std::to_string(number_); }

 private:
  Task<void> run(std::string who, Dice dice);
  Task<void> session(std::string who, Caller* caller, Dice* dice);
  Task<bool> talk_a_while(Talk* talk, Caller* caller, Dice* dice);
  [[nodiscard]] Conduct any_conduct(Dice& dice, const std::vector<RequestPtr>& requests) const;

  Scene& scene_;
  platform::sim::Node& node_;
  const ClientPlan plan_;
  const std::size_t number_;
  std::vector<std::unique_ptr<platform::test::Root>> sessions_;
};

}  // namespace ron::sim
