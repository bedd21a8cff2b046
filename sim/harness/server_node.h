// ServerNode: the machine that runs the service, and its operator. The service lives as in a real
// process (services/kit/life.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "observe/log.h"
#include "platform/send_memory.h"
#include "platform/sim/node.h"
#include "platform/test_support.h"
#include "services/kit/life.h"
#include "sim/harness/scene.h"

namespace ron::sim {

// Memory that is sent by reference, for a world that has none. What is given back is spoilt, so
// that a use after the end shows as wrong bytes.
class HeapArena final : public platform::SendArena {
 public:
  platform::SendMemory allocate(std::size_t bytes) override;
  void set_limit(std::uint64_t) noexcept override {}
  [[nodiscard]] std::uint64_t reserved_bytes() const noexcept override { return reserved_; }

 private:
  void release(const platform::SendMemory& memory) noexcept override;
  std::uint64_t reserved_ = 0;
};

// Driven by signals from outside any executor. One life at a time: begin(), signals or a power cut,
// stopped(), end().
class ServerNode {
 public:
  ServerNode(Scene& scene, platform::sim::Node& node);
  ServerNode(const ServerNode&) = delete;
  ServerNode& operator=(const ServerNode&) = delete;
  ~ServerNode();

  // Starts a service. Serving once started().
  void begin(const Flags& flags);
  // What the next reload signal finds in the file; outlives the life.
  void edit_config(const ReloadPlan& reload) { next_ = &reload; }
  void signal(platform::Signal signal) { node_.signals().raise(signal); }
  // The machine goes dark in the middle of whatever it does: nobody hears of anything from now on,
  // and what its disk had not synced is lost, kept or torn. What is left of the process can only
  // be taken apart, which ends in stopped() as well.
  void cut_power();

  [[nodiscard]] bool started() const noexcept { return started_; }
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  [[nodiscard]] bool is_dark() const noexcept { return dark_; }
  [[nodiscard]] bool ended() const noexcept { return service_ == nullptr; }
  // Checks what must hold after a stop, and destroys the service. The machine has power again.
  void end();

  // The level of a gauge, summed over its series and the services of the process.
  [[nodiscard]] std::int64_t gauge(std::string_view name) { return sum(name).level; }
  [[nodiscard]] std::uint64_t counter(std::string_view name) { return sum(name).count; }
  [[nodiscard]] platform::sim::Node& node() noexcept { return node_; }
  [[nodiscard]] std::size_t reloads() const noexcept { return reloads_; }  // in this life
  [[nodiscard]] std::size_t aborted() const noexcept { return aborted_; }
  [[nodiscard]] Duration stop_took() const noexcept { return stop_took_; }

 private:
  Task<void> live(std::shared_ptr<const config::Config> config);
  kit::LifeHooks hooks();
  std::expected<kit::NextSetup, config::ReloadRefused> next();
  [[nodiscard]] Era era_of(std::shared_ptr<const config::Config> config) const;
  void listening(const kit::Endpoints& at);
  void reloaded(const config::ReloadRefused* why);
  void stop_asked();
  void after_stop();
  void note_end(bool cut);
  void check_log();
  void check_stopped();
  [[nodiscard]] platform::Host host();
  [[nodiscard]] runtime::SeriesReading sum(std::string_view name);
  [[nodiscard]] TimePoint now() const { return scene_.world.now(); }
  [[nodiscard]] std::size_t planned_failures() const;
  void wrong(std::string_view what) {
    if (!dark_) scene_.journal.violation("server", what);
  }

  Scene& scene_;
  platform::sim::Node& node_;
  HeapArena arena_;
  observe::LogHub logs_;
  const ReloadPlan* next_ = nullptr;
  const ReloadPlan* taken_ = nullptr;  // by the reload under way
  bool started_ = false;
  bool stopped_ = false;
  bool dark_ = false;
  std::size_t reloads_ = 0;
  std::size_t aborted_ = 0;
  Duration stop_took_{};
  TimePoint stop_asked_ = kNever;
  TimePoint abort_asked_ = kNever;
  std::unique_ptr<kit::Service> service_;
  std::vector<kit::Service*> services_;  // it, and those that are made with it
  std::optional<kit::Life> life_;
  std::unique_ptr<platform::test::Root> root_;
};

}  // namespace ron::sim
