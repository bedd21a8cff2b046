// Timeline: what the service promised when. Clients hold each answer against the settings that
// could have applied to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "config/load.h"
#include "platform/net.h"
#include "services/kit/config.h"

namespace ron::sim {

using platform::kNever;
using platform::TimePoint;

// Settings in force during a time. Around a reload two eras overlap: a request may see either.
struct Era {
  std::shared_ptr<const config::Config> config;  // all of it
  std::shared_ptr<const kit::ServiceConfig> settings;
  bool public_reads = true;
  TimePoint from{};
  TimePoint until = kNever;
};

// One run of the service.
struct Life {
  platform::Endpoint bind;
  platform::Endpoint admin;
  TimePoint opened = kNever;             // clients are served from here on
  TimePoint moved{};                     // when clients last had to learn a new address
  TimePoint stop_asked = kNever;         // when it was told to stop
  TimePoint ended = kNever;              // when it was gone, in good order or not
  bool cut = false;                      // its machine lost power
  std::vector<TimePoint> task_failures;  // when a task of it was made to fail
  std::vector<Era> eras;

  // Whether `holds` for one of the settings that could have applied from `begin` to `end`.
  template <class Holds>
  [[nodiscard]] bool any(TimePoint begin, TimePoint end, Holds holds) const {
    return std::ranges::any_of(
        eras, [&](const Era& era) { return era.from <= end && era.until >= begin && holds(era); });
  }
};

// Written by whoever runs the service, read by everyone.
class Timeline {
 public:
  // A life begins with these settings; nobody is served before opened().
  void begin_life(Era era, TimePoint now) {
    era.from = now;
    lives_.emplace_back().eras.push_back(std::move(era));
  }
  void opened(platform::Endpoint bind, platform::Endpoint admin, TimePoint now) {
    Life& life = lives_.back();
    life.bind = bind;
    life.admin = admin;
    life.opened = life.moved = now;
  }
  // A reload begins; the old settings count until settled() says so.
  void change(Era era, TimePoint now) {
    era.from = now;
    lives_.back().eras.push_back(std::move(era));
  }
  void settled(platform::Endpoint bind, platform::Endpoint admin, TimePoint now, TimePoint until) {
    Life& life = lives_.back();
    if (bind != life.bind) life.moved = now;
    life.bind = bind;
    life.admin = admin;
    for (std::size_t i = 0; i + 1 < life.eras.size(); ++i) {
      life.eras[i].until = std::min(life.eras[i].until, until);
    }
  }
  void stop_asked(TimePoint now) {
    lives_.back().stop_asked = std::min(lives_.back().stop_asked, now);
  }
  void task_failed(TimePoint now) { lives_.back().task_failures.push_back(now); }
  void ended(TimePoint now, bool cut) {
    lives_.back().ended = now;
    lives_.back().cut = cut;
    stop_asked(now);
  }

  // Lives count from 1; there is always a current one once the world runs.
  [[nodiscard]] unsigned current() const noexcept { return static_cast<unsigned>(lives_.size()); }
  [[nodiscard]] const Life& life(unsigned number) const { return lives_[number - 1]; }
  // This life, or one after it, ended with the power.
  [[nodiscard]] bool was_cut_since(unsigned number) const {
    return std::any_of(lives_.begin() + (number - 1), lives_.end(), std::mem_fn(&Life::cut));
  }
  [[nodiscard]] const Life& now_living() const { return lives_.back(); }

 private:
  std::vector<Life> lives_;
};

}  // namespace ron::sim
