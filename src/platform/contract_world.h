// One contract, two worlds: the same test bodies run on the real machine and in the simulation.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "platform/host.h"
#include "platform/posix/host.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::platform::test {

// A directory of its own that is gone at the end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = testing::TempDir() + "ron-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// Why a call failed that has to.
template <class T>
base::Code code_of(const base::Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? base::Code::Canceled : result.error().code;
}

// Runs the tasks on core 0 of the machine until all are done; false if that takes too long.
inline bool run_tasks(posix::PosixHost& machine, std::vector<Task<void>> tasks) {
  struct Begin : Job {
    Begin() : Job([](Job&) noexcept {}) {}
  };
  Executor& core = *machine.host().cores[0];
  std::size_t left = tasks.size();
  bool hung = false;
  std::vector<std::unique_ptr<Root>> roots;
  for (Task<void>& task : tasks) {
    roots.push_back(std::make_unique<Root>(core, std::move(task), [&] {
      if (--left == 0) machine.stop();
    }));
  }
  const Root watchdog(core, pause(std::chrono::seconds(60)), [&] {
    hung = true;
    machine.stop();
  });
  Begin begin;
  machine.run(begin);
  return !hung;
}

// A server and a client that can reach each other; on the real machine they are one process.
class ContractWorld {
 public:
  ContractWorld() = default;
  ContractWorld(const ContractWorld&) = delete;
  ContractWorld& operator=(const ContractWorld&) = delete;
  virtual ~ContractWorld() = default;

  virtual Host server() = 0;
  virtual Host client() = 0;
  // Where the server listens, and the client connects to.
  virtual Endpoint address(std::uint16_t port) = 0;
  // An empty directory on the server's disk.
  virtual std::string directory() = 0;
  // Runs to the end of both; once per world. False if they hang.
  virtual bool run(Task<void> on_server, Task<void> on_client) = 0;
  bool run(Task<void> on_server) { return run(std::move(on_server), nothing()); }

 private:
  static Task<void> nothing() { co_return; }
};

class PosixContractWorld final : public ContractWorld {
 public:
  explicit PosixContractWorld(posix::DiskEngine engine)
      : machine_({.cores = 1, .blocking_threads = 2, .disk = engine}) {}

  Host server() override { return machine_.host(); }
  Host client() override { return machine_.host(); }
  Endpoint address(std::uint16_t port) override { return Endpoint::loopback(port); }
  std::string directory() override { return scratch_.path(); }
  bool run(Task<void> on_server, Task<void> on_client) override {
    std::vector<Task<void>> tasks;
    tasks.push_back(std::move(on_server));
    tasks.push_back(std::move(on_client));
    return run_tasks(machine_, std::move(tasks));
  }

 private:
  ScratchDirectory scratch_;
  posix::PosixHost machine_;
};

class SimContractWorld final : public ContractWorld {
 public:
  SimContractWorld(std::uint64_t seed, sim::FaultPlan faults)
      : world_(seed, {.faults = faults}), server_(world_.add_node()), client_(world_.add_node()) {}

  Host server() override { return server_.host(); }
  Host client() override { return client_.host(); }
  Endpoint address(std::uint16_t port) override { return server_.endpoint(port); }
  std::string directory() override { return "/"; }
  bool run(Task<void> on_server, Task<void> on_client) override {
    const Root serving(server_.core(), std::move(on_server));
    const Root calling(client_.core(), std::move(on_client));
    return world_.run_until([&] { return serving.done() && calling.done(); },
                            std::chrono::minutes(10)) == sim::Outcome::Done;
  }

 private:
  sim::World world_;
  sim::Node& server_;
  sim::Node& client_;
};

struct ContractCase {
  std::string name;
  std::unique_ptr<ContractWorld> (*make)(std::uint64_t seed);
  std::uint64_t seeds;  // how many runs; the real machine has no seed
};

inline void PrintTo(const ContractCase& which, std::ostream* out) { *out << which.name; }

inline std::string case_name(const testing::TestParamInfo<ContractCase>& info) {
  return info.param.name;
}

inline std::vector<ContractCase> contract_cases() {
  return {
      {"PosixUring",
       [](std::uint64_t) -> std::unique_ptr<ContractWorld> {
         return std::make_unique<PosixContractWorld>(posix::DiskEngine::Uring);
       },
       1},
      {"PosixPool",
       [](std::uint64_t) -> std::unique_ptr<ContractWorld> {
         return std::make_unique<PosixContractWorld>(posix::DiskEngine::Pool);
       },
       1},
      {"Sim",
       [](std::uint64_t seed) -> std::unique_ptr<ContractWorld> {
         return std::make_unique<SimContractWorld>(seed, sim::FaultPlan{});
       },
       20},
      // Everything that TCP and a slow disk may do without an error reaching the caller.
      {"SimRough",
       [](std::uint64_t seed) -> std::unique_ptr<ContractWorld> {
         sim::FaultPlan plan = sim::FaultPlan::rough();
         plan.reset_segment = plan.refuse_connect = 0;
         return std::make_unique<SimContractWorld>(seed, plan);
       },
       50},
  };
}

// Runs the body once per seed of the case.
class Contract : public testing::TestWithParam<ContractCase> {
 protected:
  template <class Body>
  void in_each_world(Body body) {
    for (std::uint64_t seed = 1; seed <= GetParam().seeds && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const std::unique_ptr<ContractWorld> world = GetParam().make(seed);
      body(*world);
    }
  }
};

}  // namespace ron::platform::test
