// For the tests of this folder: sample bytes, and one simulated machine to run tasks on.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "platform/random.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::volume {

inline std::vector<std::byte> sample_bytes(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  platform::FastRandom random(seed * 1'000'003 + size);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, size - i));
  }
  return bytes;
}

inline base::Buffer buffer_of(base::ByteView bytes) {
  base::Buffer buffer(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

// A world with one machine.
struct Machine {
  explicit Machine(std::uint64_t seed, platform::sim::FaultPlan plan = {})
      : world(seed, {.faults = plan}) {}

  void run(platform::Task<void> task) {
    const platform::test::Root root(node.core(), std::move(task));
    run_until([&] { return root.done(); });
  }

  // Throws if it does not come to that: then the test, or the history, is over.
  void run_until(const std::function<bool()>& holds) {
    const auto outcome = world.run_until(holds, std::chrono::hours(1));
    if (outcome != platform::sim::Outcome::Done) throw std::runtime_error("it never gets done");
  }

  platform::sim::World world;
  platform::sim::Node& node = world.add_node();
};

}  // namespace ron::volume
