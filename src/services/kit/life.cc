#include "services/kit/life.h"

#include <ranges>
#include <utility>

namespace ron::kit {

using platform::Signal;
using platform::Task;

Life::Life(platform::Signals& signals, std::vector<Service*> services, LifeHooks hooks)
    : signals_(signals),
      services_(std::move(services)),
      hooks_(std::move(hooks)),
      meters_(services_.front()->meters(), "process") {}

Life::~Life() = default;

Task<base::Result<>> Life::run() {
  tasks_.emplace(meters_);
  const base::Result<> started = co_await start();
  if (!started) {
    co_await stop();
    co_return started;
  }
  while (!stopped_) {
    const Signal signal = signals_.take();
    if (signal == Signal::Terminate) {
      terminate();
    } else if (signal == Signal::Reload && !stopping_) {
      co_await reload();
    } else if (signal == Signal::None) {
      co_await signals_.arrived().wait();
    }
  }
  co_await tasks_->join(runtime::Deadline());
  co_return base::Result<>();
}

Task<base::Result<>> Life::start() {
  for (Service* const service : services_) {
    service->on_give_up([this] {
      gave_up_ = true;
      terminate();
    });
    const auto endpoints = co_await service->start();
    if (!endpoints) co_return base::fail(endpoints.error());
    ++started_;
    if (service->listens()) listening(*service, *endpoints);
  }
  co_return base::Result<>();
}

void Life::listening(Service& service, const Endpoints& at) {
  hooks_.on_listening(service, at);
  for (Service* const one : services_) one->on_front(service, at);
}

// The first signal drains, the second aborts.
void Life::terminate() {
  if (std::exchange(stopping_, true)) {
    hooks_.on_abort();
    for (Service* const service : services_) service->abort_now();
    return;
  }
  hooks_.on_stop();
  tasks_->spawn(stop());
}

Task<void> Life::stop() {
  for (Service* const service : services_ | std::views::take(started_) | std::views::reverse) {
    aborted_ += co_await service->stop();
  }
  stopped_ = true;
  signals_.arrived().nudge();
}

Task<void> Life::reload() {
  auto next = hooks_.next();
  if (!next) co_return refuse(next.error());
  std::size_t prepared = 0;
  for (Service* const service : services_) {
    const base::Result<> ready = co_await service->prepare(next->reloaded.config);
    if (!ready) {
      for (Service* const one : services_ | std::views::take(prepared)) co_await one->discard();
      co_return refuse({config::ReloadFail::Rebind, ready.error().message});
    }
    ++prepared;
  }
  for (Service* const service : services_) {
    const Endpoints endpoints = co_await service->adopt(next->reloaded, next->credentials);
    if (service->listens()) listening(*service, endpoints);
  }
  hooks_.on_reload(nullptr);
}

void Life::refuse(const config::ReloadRefused& why) {
  for (Service* const service : services_) service->count_reload_failure(why.fail);
  hooks_.on_reload(&why);
}

}  // namespace ron::kit
