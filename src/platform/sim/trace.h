// Trace: the running fingerprint of everything a simulated world decided. Two runs with the same
// seed must end with the same hash; a sink sees every line, for replaying a failure by eye.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "platform/executor.h"

namespace ron::platform::sim {

// X(name, text in the trace, meaning of its two numbers)
#define RON_SIM_TRACE_KINDS(X)                                  \
  X(Job, "job", "core, pool index")                             \
  X(Timer, "timer", "core, -")                                  \
  X(Event, "event", "event number, -")                          \
  X(Connect, "connect", "connection, target port")              \
  X(Refused, "refused", "connection, errno")                    \
  X(Established, "established", "connection, target node")      \
  X(Accept, "accept", "connection, local port")                 \
  X(Write, "write", "connection, bytes")                        \
  X(Deliver, "deliver", "connection, bytes")                    \
  X(Finish, "finish", "connection, side")                       \
  X(Reset, "reset", "connection, side")                         \
  X(Lose, "lose", "connection, bytes")                          \
  X(Stall, "stall", "connection, side")                         \
  X(Partition, "partition", "from node, to node")               \
  X(Heal, "heal", "from node, to node")                         \
  X(Fault, "fault", "where, detail")                            \
  X(Split, "split", "connection, bytes before the cut")         \
  X(ShortWrite, "short-write", "connection, bytes taken")       \
  X(Spurious, "spurious", "connection, side")                   \
  X(AcceptFail, "accept-fail", "local port, errno")             \
  X(ResetFault, "reset-fault", "connection, side")              \
  X(DiskRead, "disk-read", "file, bytes")                       \
  X(DiskWrite, "disk-write", "file, bytes")                     \
  X(DiskSync, "disk-sync", "file or directory, pending writes") \
  X(DiskName, "disk-name", "directory, operation")              \
  X(DiskLost, "disk-lost", "file or name, how")                 \
  X(PowerCut, "power-cut", "node, -")                           \
  X(Restart, "restart", "node, -")                              \
  X(Blocking, "blocking", "node, queue depth")                  \
  X(Signal, "signal", "node, signal")                           \
  X(KeyValueWrite, "key-value-write", "node, changes")          \
  X(KeyValueFlush, "key-value-flush", "node, batches in all")   \
  X(KeyValueLost, "key-value-lost", "node, batches")

enum class TraceKind : std::uint8_t {
#define RON_X(name, text, numbers) name,
  RON_SIM_TRACE_KINDS(RON_X)
#undef RON_X
};
inline constexpr std::size_t kTraceKinds = 0
#define RON_X(name, text, numbers) +1
    RON_SIM_TRACE_KINDS(RON_X)
#undef RON_X
    ;
std::string_view name(TraceKind kind) noexcept;

class Trace {
 public:
  using Sink = std::function<void(std::string_view line)>;

  void set_sink(Sink sink) { sink_ = std::move(sink); }
  void add(TimePoint now, TraceKind kind, std::uint64_t a, std::uint64_t b) {
    ++counts_[static_cast<std::size_t>(kind)];
    mix(static_cast<std::uint64_t>(kind));
    mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    mix(a);
    mix(b);
    if (sink_) print(now, kind, a, b);
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  // How often this has happened so far.
  [[nodiscard]] std::uint64_t count(TraceKind kind) const noexcept {
    return counts_[static_cast<std::size_t>(kind)];
  }

 private:
  void mix(std::uint64_t value) noexcept {
    hash_ = (((hash_ << 5) | (hash_ >> 59)) ^ value) * 0x9E3779B97F4A7C15ULL;
  }
  void print(TimePoint now, TraceKind kind, std::uint64_t a, std::uint64_t b);

  std::uint64_t hash_ = 0x243F6A8885A308D3ULL;
  std::array<std::uint64_t, kTraceKinds> counts_{};
  Sink sink_;
};

}  // namespace ron::platform::sim
