// Those who follow HEAD: another service of the process, through RegistryApi, and a client of the
// event stream. What they hear is what everybody hears, only ever newer, and nothing is left out
// without a word.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "platform/test_support.h"
#include "services/registry/api/api.h"
#include "sim/harness/scene.h"
#include "sim/registry/ledger.h"

namespace ron::sim {

// Asks again and again for a HEAD that it has not seen, on one core of the service's machine; of
// one life, and gone before the service is.
class ApiFollower {
 public:
  ApiFollower(Scene& scene, registry_api::RegistryApi& api, Ledger& ledger);

  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_.version; }
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

 private:
  Task<void> follow();
  Task<void> look_up();
  void hear(const registry_api::Head& head, std::uint64_t floor);

  Scene& scene_;
  registry_api::RegistryApi& api_;
  Ledger& ledger_;
  registry_api::Head seen_;
  std::uint64_t changes_ = 0;
  platform::test::Root task_;
};

// Reads the event stream over all lives, and goes on where it was when the connection ends.
class StreamReader {
 public:
  StreamReader(Scene& scene, Ledger& ledger, const std::string& token);

  // It leaves as soon as it can.
  void stop() noexcept { stopping_ = true; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }

 private:
  struct Event {
    std::string id;
    std::string name;
    std::string data;
  };

  Task<void> run();
  Task<void> listen(platform::Endpoint at);
  Task<bool> ask(HttpClient* http);
  Task<void> read_events(HttpClient* http);
  [[nodiscard]] std::string request();
  void take_lines(std::string& text);
  void take(const Event& event);
  // What is wrong with it.
  [[nodiscard]] std::optional<std::string> judge_update(std::uint64_t id, std::string_view data);
  [[nodiscard]] std::optional<std::string> judge_gap(std::uint64_t id, std::string_view data);
  [[nodiscard]] TimePoint now() const { return scene_.world.now(); }

  Scene& scene_;
  Ledger& ledger_;
  const std::string& token_;
  Dice dice_;
  bool stopping_ = false;
  std::optional<std::uint64_t> last_;  // of which it was told, or what it began behind
  bool resumes_ = false;               // what it hears next comes right behind that
  std::uint64_t events_ = 0;
  std::uint64_t gaps_ = 0;
  platform::test::Root task_;
};

}  // namespace ron::sim
