// Subject: what a service brings to its simulation. How it is made, what its clients ask, what they
// may hear, and what must be true once all is quiet; the harness does the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/keyring.h"
#include "config/load.h"
#include "platform/host.h"
#include "services/kit/service_base.h"
#include "sim/harness/http_client.h"
#include "sim/harness/journal.h"
#include "sim/harness/plan.h"
#include "sim/harness/refusals.h"
#include "sim/harness/request.h"
#include "sim/harness/timeline.h"

namespace ron::sim {

class Talk;
struct Scene;

// A known mistake that can be put into the service, to see that the simulation finds it.
struct PlantInfo {
  std::string_view name;
  std::string_view what;  // it does wrong
};

// A request and its answer, with everything about them that matters.
struct Exchange {
  const Request* request = nullptr;
  const Answer* answer = nullptr;  // null: there was none
  const Life* life = nullptr;
  unsigned life_number = 0;
  std::optional<std::size_t> operation{};  // what Subject::begin said
  TimePoint called{};                      // when its connection was asked for
  TimePoint begun{};
  TimePoint ended{};
  bool first_on_connection = false;
  bool sent_whole = true;
  std::uint64_t heavy_requests = 0;  // that may have passed through admission in this life
  const Refusals* refusals = nullptr;
};

struct Judgement {
  std::string outcome;  // `201`, `429 Busy`
  std::optional<std::string> wrong;
};

// One session of a client. What it learns from answers it learns through its subject.
class Caller {
 public:
  Caller() = default;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  virtual ~Caller() = default;

  // One that expects 100 Continue, or depends on an answer under way, must be alone.
  virtual RequestPtr next(Dice& dice, bool alone) = 0;
};

// Made for one seed and one world. Called outside the service, on the world's thread.
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  [[nodiscard]] virtual const Plan& plan() const noexcept = 0;
  // Before anything else is asked but the plan.
  virtual void enter(Scene& scene) = 0;

  // The service.
  [[nodiscard]] virtual const config::Schema& schema() const = 0;
  [[nodiscard]] virtual std::shared_ptr<const kit::ServiceConfig> settings(
      const config::Config& config) const = 0;
  [[nodiscard]] virtual std::shared_ptr<const auth::Keyring> keyring() const = 0;
  // Its machine, perhaps with a part that misbehaves as planned.
  virtual platform::Host host(platform::Host machine) { return machine; }
  virtual std::unique_ptr<kit::Service> make_service(kit::ServiceParts parts) = 0;
  // Other services of the same process, made with it: started before it and stopped after it.
  virtual std::vector<kit::Service*> neighbours() { return {}; }
  // After the service is gone: whatever was made with it goes, too.
  virtual void service_gone() {}
  // The planned failure of a task is due: it is to throw when it next can. Whatever fails then is
  // told to Timeline::task_failed.
  virtual void fail_task() {}
  // What was planned and has not happened shall not happen any more.
  virtual void calm_down() {}
  // Until the service has noticed that.
  [[nodiscard]] virtual Duration recovery() const { return {}; }
  // After every step of the world: what is wrong with the service, if anything is.
  virtual std::optional<std::string> look() { return std::nullopt; }
  // How full a queue is that the service does not bound by its capacity alone.
  [[nodiscard]] virtual std::optional<Level> level_of(std::string_view) const {
    return std::nullopt;
  }
  // Everybody has gone: so do the machines that the plan added.
  virtual void leave() {}
  // Until workers have done all that can be queued.
  [[nodiscard]] virtual Duration longest_queue(const config::Config& config) const = 0;

  // Its clients.
  virtual std::unique_ptr<Caller> make_caller(Dice dice) = 0;
  // The first byte of a request is about to leave; what it returns comes back with the exchange.
  virtual std::optional<std::size_t> begin(const Request& request, unsigned life) = 0;
  virtual Judgement answered(const Exchange& exchange) = 0;
  // An answer may have been cut off, though the service had the request and time to answer it.
  [[nodiscard]] virtual bool may_cut(const Exchange&) const { return false; }
  // `may_happen`: the server may have all of it and may still be about to act on it.
  virtual void unanswered(const Exchange& exchange, bool may_happen) = 0;
  // Nothing of this life takes effect any more.
  virtual void life_ended(unsigned life) = 0;

  // In a quiet world: one client that does everything right, so nothing may be refused to it.
  virtual Task<void> audit(Talk* talk) = 0;
  // At the end: whether all answers together can be explained.
  [[nodiscard]] virtual std::optional<std::string> verdict() const = 0;
  virtual void count(Tally& tally) const = 0;
};

}  // namespace ron::sim
