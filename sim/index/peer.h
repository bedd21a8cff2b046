// Peer: another svc-index, on a machine of its own, that the one under test asks.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "observe/log.h"
#include "platform/sim/node.h"
#include "platform/test_support.h"
#include "services/index/service.h"
#include "services/kit/life.h"
#include "sim/harness/scene.h"
#include "sim/index/plan.h"
#include "sim/index/records.h"

namespace ron::sim {

// Knows the records of the plan that only peers know: it is told of them whenever it has started.
// Driven from outside any executor.
class Peer {
 public:
  Peer(Scene& scene, std::size_t helper, const Records& records);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  // Unless it runs. False while it still stops: then it is to be tried again.
  [[nodiscard]] bool start();
  // The machine goes dark. What is left of the process can only be taken apart.
  void cut_power();
  // In good order.
  void stop();
  [[nodiscard]] bool stopped() const noexcept { return root_ == nullptr || stopped_; }

  [[nodiscard]] platform::sim::NodeId node() const noexcept { return node_.id(); }

 private:
  Task<void> live();
  Task<void> announce();
  void clear();

  Scene& scene_;
  platform::sim::Node& node_;
  const Records& records_;
  observe::LogHub logs_;
  bool dark_ = false;
  bool started_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
  std::unique_ptr<index::Service> service_;
  std::optional<kit::Life> life_;
  std::unique_ptr<platform::test::Root> root_;
  std::unique_ptr<platform::test::Root> announcing_;
};

}  // namespace ron::sim
