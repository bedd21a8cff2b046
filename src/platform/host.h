// Host: everything a service may know of the world outside. Made once by main (posix) or by a
// simulation, and handed down by reference; it outlives every task.
#pragma once

#include <span>

#include "platform/blocking.h"
#include "platform/clock.h"
#include "platform/disk.h"
#include "platform/executor.h"
#include "platform/key_value.h"
#include "platform/net.h"
#include "platform/random.h"
#include "platform/resolver.h"
#include "platform/send_memory.h"
#include "platform/signals.h"

namespace ron::platform {

struct Host {
  std::span<Executor* const> cores;  // at least one; cores[0] runs the supervisor
  Clock& clock;
  Random& random;
  Net& net;
  Resolver& resolver;
  Disk& disk;
  KeyValues& key_values;
  Signals& signals;
  BlockingPool& blocking;
  SendArena& send_arena;

  // The same host with only its first `count` cores.
  [[nodiscard]] Host with_cores(std::size_t count) const noexcept {
    return {cores.first(count), clock,   random,   net,       resolver, disk,
            key_values,         signals, blocking, send_arena};
  }
  // The same host with another disk, which outlives it: one in memory, for amnesia.
  [[nodiscard]] Host with_disk(Disk& other) const noexcept {
    return {cores, clock, random, net, resolver, other, key_values, signals, blocking, send_arena};
  }
};

}  // namespace ron::platform
