// Monitor: the watch on a service's readiness, and what must be true of any service once everyone
// has gone.
#pragma once

#include "platform/sim/node.h"
#include "platform/test_support.h"
#include "sim/harness/scene.h"
#include "sim/harness/server_node.h"

namespace ron::sim {

// Asks the admin listener again and again whether the service is ready. The judge knows what it may
// hear when.
class Monitor {
 public:
  Monitor(Scene& scene, platform::sim::Node& node);

  void stop() noexcept { stopping_ = true; }
  [[nodiscard]] bool done() const noexcept { return task_.done(); }

 private:
  Task<void> watch();

  Scene& scene_;
  platform::sim::Node& node_;
  bool stopping_ = false;
  platform::test::Root task_;
};

// GET of one of the routes every service has.
RequestPtr make_probe(Dice& dice, std::string_view path);

// A node with a good link.
ClientPlan good_client();

// What must hold before the audit: nothing is left of those who went.
void check_quiet(Scene& scene, ServerNode& server);

}  // namespace ron::sim
