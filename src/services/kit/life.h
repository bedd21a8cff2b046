// Life: what a process does around its services. Starts them in order, reloads all of them or none,
// stops them in reverse; a second stop signal aborts. A simulated machine lives the same way.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "config/reload.h"
#include "platform/signals.h"
#include "platform/task.h"
#include "runtime/task_group.h"
#include "services/kit/service.h"

namespace ron::kit {

// What a reload is to take over.
struct NextSetup {
  config::Reloaded reloaded;
  Credentials credentials;
};

// What the owner decides and wants to hear. Called on cores[0]; none may wait.
struct LifeHooks {
  // Reads and checks everything anew.
  std::function<std::expected<NextSetup, config::ReloadRefused>()> next;
  // A service has begun to listen, or listens anew after a reload.
  std::function<void(Service&, const Endpoints&)> on_listening = [](auto&, auto&) {};
  // Nothing: the reload was taken over by all. Else why by none.
  std::function<void(const config::ReloadRefused*)> on_reload = [](auto*) {};
  std::function<void()> on_stop = [] {};   // asked for
  std::function<void()> on_abort = [] {};  // asked for a second time
};

// Made and run on cores[0]. The services, the first of which is stopped last, outlive it.
class Life {
 public:
  Life(platform::Signals& signals, std::vector<Service*> services, LifeHooks hooks);
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life();

  // From the start to the end of the stop. An error says which service did not start and why; none
  // runs then. Not cancel-safe.
  platform::Task<base::Result<>> run();

  [[nodiscard]] bool gave_up() const noexcept { return gave_up_; }  // a critical task failed
  [[nodiscard]] std::size_t aborted() const noexcept { return aborted_; }

 private:
  platform::Task<base::Result<>> start();
  platform::Task<void> reload();
  platform::Task<void> stop();
  void terminate();
  void refuse(const config::ReloadRefused& why);
  // Tells the owner and every service.
  void listening(Service& service, const Endpoints& at);

  platform::Signals& signals_;
  const std::vector<Service*> services_;
  const LifeHooks hooks_;
  std::size_t started_ = 0;  // of services_, from the first on
  std::size_t aborted_ = 0;
  bool stopping_ = false;
  bool stopped_ = false;
  bool gave_up_ = false;
  runtime::TaskMeters meters_;
  std::optional<runtime::TaskGroup> tasks_;  // last: its tasks use the rest
};

}  // namespace ron::kit
