// Audit: what must be true of a service once everyone has gone quiet, and the watch on its
// readiness until then.
#pragma once

#include <memory>
#include <string>

#include "platform/sim/node.h"
#include "platform/test_support.h"
#include "sim/scene.h"
#include "sim/server_node.h"
#include "sim/talk.h"

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

// One client that does everything right, in a world without faults or other clients. So nothing may
// be refused to it, everything acknowledged must be there, and a new object can be stored, read and
// removed: a permit, a turn or a wake-up that was lost on the way shows here.
class Auditor {
 public:
  // `server` must be serving. Runs at once.
  Auditor(Scene& scene, platform::sim::Node& node, ServerNode& server);

  [[nodiscard]] bool done() const noexcept { return task_.done(); }

 private:
  Task<void> audit();
  Task<bool> read_everything();
  Task<void> store_and_remove();
  void check_books();
  // The outcome, empty when there was none.
  Task<std::string> ask(Kind kind, std::size_t object);
  [[nodiscard]] Duration pause() const;
  void expect(std::string outcome, std::string wanted, std::string what);

  Scene& scene_;
  platform::sim::Node& node_;
  ServerNode& server_;
  Dice dice_;
  std::unique_ptr<Talk> talk_;
  std::size_t present_ = 0;
  std::uint64_t present_bytes_ = 0;
  platform::test::Root task_;
};

// What must hold before the audit: nothing is left of those who went.
void check_quiet(Scene& scene, ServerNode& server);

}  // namespace ron::sim
