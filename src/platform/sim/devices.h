// The small devices of a simulated node: clock, randomness, operator's signals, blocking pool, name
// service.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "platform/blocking.h"
#include "platform/clock.h"
#include "platform/random.h"
#include "platform/resolver.h"
#include "platform/signals.h"
#include "platform/sim/faults.h"
#include "platform/sim/network.h"

namespace ron::platform::sim {

// The world's time; the wall clock may be wrong by a fixed amount.
class SimClock final : public Clock {
 public:
  SimClock(const World& world, Duration wall_skew) : world_(world), wall_skew_(wall_skew) {}
  [[nodiscard]] TimePoint monotonic() const noexcept override;
  [[nodiscard]] std::int64_t unix_ms() const noexcept override;
  // An operator, or a time server, sets the clock.
  void set_wall_skew(Duration skew) noexcept { wall_skew_ = skew; }

 private:
  const World& world_;
  Duration wall_skew_;
};

class SimRandom final : public Random {
 public:
  explicit SimRandom(std::uint64_t seed) : source_(seed) {}
  void fill(base::MutableBytes out) noexcept override;

 private:
  FastRandom source_;
};

// Signals are injected by the test.
class SimSignals final : public Signals {
 public:
  SimSignals(World& world, NodeId node) : world_(world), node_(node) {}
  void raise(Signal signal);
  Signal take() noexcept override;

 private:
  World& world_;
  NodeId node_;
  std::deque<Signal> waiting_;
};

struct BlockingOptions {
  std::size_t capacity = 256;
  Duration takes = std::chrono::microseconds(200);  // at most
};

// Runs each closure some virtual time after it was queued, outside any executor.
class SimBlocking final : public BlockingPool {
 public:
  SimBlocking(World& world, NodeId node, BlockingOptions options)
      : world_(world), node_(node), options_(options) {}
  [[nodiscard]] std::size_t depth() const noexcept override { return depth_; }
  [[nodiscard]] std::size_t capacity() const noexcept override { return options_.capacity; }
  // What is queued or in line is dropped.
  void power_cut() noexcept {
    ++epoch_;
    depth_ = 0;
    drop_line();
  }

 private:
  bool try_submit(QueuedJob& job) override;
  [[nodiscard]] TimePoint now() const noexcept override;

  World& world_;
  NodeId node_;
  BlockingOptions options_;
  std::size_t depth_ = 0;
  std::uint64_t epoch_ = 0;
};

// Knows the names that the test gives it, and localhost. Answers take as long as work on the pool.
class SimResolver final : public Resolver {
 public:
  explicit SimResolver(BlockingPool& blocking) noexcept : blocking_(blocking) {}
  Task<base::Result<std::vector<Endpoint>>> resolve(std::string host, std::uint16_t port) override;
  // No addresses: the name is not known any more.
  void set(const std::string& host, std::vector<Endpoint> addresses);

 private:
  [[nodiscard]] base::Result<std::vector<Endpoint>> find(const std::string& host,
                                                         std::uint16_t port) const;

  BlockingPool& blocking_;
  std::map<std::string, std::vector<Endpoint>> names_;
};

}  // namespace ron::platform::sim
