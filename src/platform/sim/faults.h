// FaultPlan: how often each thing goes wrong in a simulated world. Everything is off by default;
// a test turns on what it is about, or takes rough() and lets the seed decide.
//
// Rates are whole numbers per million tries, so that no floating point enters a replay.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/units.h"

namespace ron::platform::sim {

using base::Duration;
using PerMillion = std::uint32_t;
inline constexpr PerMillion kAlways = 1'000'000;

struct FaultPlan {
  // Network, per segment on the wire.
  PerMillion split_segment = 0;  // a write arrives in pieces: short reads
  PerMillion lose_segment = 0;   // it and all behind it wait for a retransmission
  PerMillion reset_segment = 0;  // the connection is reset instead
  // Network, per call.
  PerMillion short_write = 0;     // fewer bytes are taken than there is room for
  PerMillion spurious_ready = 0;  // a try would block although the event is set
  PerMillion refuse_connect = 0;
  PerMillion fail_accept = 0;  // out of descriptors
  // Network, as time passes: two nodes lose sight of each other. Zero: never.
  Duration partition_every{};  // mean time from one to the next
  Duration partition_lasts{};  // mean length

  // Disk, per call.
  PerMillion fail_read = 0;
  PerMillion fail_write = 0;
  PerMillion fail_sync = 0;    // what was not synced may then never reach the medium
  PerMillion fail_name = 0;    // open, create, list, rename, remove: nothing has happened then
  PerMillion rot_on_read = 0;  // one bit of what is read has changed for good
  PerMillion slow_sync = 0;
  Duration slow_sync_lasts = std::chrono::seconds(2);

  // Blocking pool, per submission: rejected as if full, until a place is free some time later.
  PerMillion reject_blocking = 0;

  // A bad day for everything that a correct service must survive; no rot and no disk errors, which
  // services answer with errors rather than hide.
  static constexpr FaultPlan rough() noexcept {
    FaultPlan plan;
    plan.split_segment = 300'000;
    plan.lose_segment = 5'000;
    plan.reset_segment = 200;
    plan.short_write = 200'000;
    plan.spurious_ready = 50'000;
    plan.refuse_connect = 10'000;
    plan.fail_accept = 5'000;
    plan.slow_sync = 20'000;
    plan.reject_blocking = 50'000;
    return plan;
  }
};

}  // namespace ron::platform::sim
