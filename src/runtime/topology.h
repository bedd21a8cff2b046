// Topology: what a service is made of, declared once and observed live.
//
// A service declares its tasks, channels and locks in its wires.h as constants. Channels can only
// be built from such a declaration and a Topology: that gives them their capacity (declared, or
// overridden from the configuration), their metrics, their row in docs/generated/concurrency.md and
// their live depth in GET /debug/topology.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/meter.h"
#include "runtime/overflow.h"

namespace ron::runtime {

enum class ChannelKind : std::uint8_t { Mpsc, Broadcast, Watch };
std::string_view name(ChannelKind kind) noexcept;

// Who takes from a channel, where that is all of them.
inline constexpr std::string_view kEveryTask = "every task";

// Known by its name: what several services have is declared once and copied into their tables.
struct ChannelDecl {
  std::string_view name;
  ChannelKind kind;
  std::size_t capacity;
  Overflow overflow;
  std::string_view producers;
  std::string_view consumers;
  std::string_view on_overflow;  // what the producer does and which metric tells
  std::string_view config_key;   // key that overrides the capacity; empty: fixed
};

enum class Importance : std::uint8_t { Critical, Important, Optional };
std::string_view name(Importance importance) noexcept;

// Known by its kind, likewise.
struct TaskDecl {
  std::string_view kind;
  std::string_view count;  // how many run: "1", "per core", "get_workers"
  Importance importance;
  std::string_view purpose;
};

struct LockDecl {
  std::string_view name;
  int rank;  // a thread may take a lock only if its rank is above those it holds
  std::string_view guards;
};

struct Wires {
  std::string_view service;
  std::span<const TaskDecl> tasks;
  std::span<const ChannelDecl> channels;
  std::span<const LockDecl> locks;
};

// Thread-safe. Outlives every channel registered with it.
class Topology {
 public:
  Topology(const Wires& wires, Meters& meters) : wires_(wires), meters_(meters) {}
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  [[nodiscard]] const Wires& wires() const noexcept { return wires_; }
  [[nodiscard]] Meters& meters() noexcept { return meters_; }

  // A live channel's entry; unregisters when it goes.
  struct Live {
    const ChannelDecl* decl;
    std::size_t capacity;
    std::function<std::size_t()> depth;
  };
  class [[nodiscard]] Registration {
   public:
    Registration(Topology& topology, const Live* live) noexcept
        : topology_(topology), live_(live) {}
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() { topology_.forget(live_); }

   private:
    Topology& topology_;
    const Live* live_;
  };
  // Asserts that the declaration belongs to this service's wires. `live` must outlive the
  // registration.
  Registration add(const Live& live);

  // Every live channel with its depth now. Sampled under the lock, so that no channel goes while
  // it is asked.
  struct Sample {
    const ChannelDecl* decl;
    std::size_t capacity;
    std::size_t depth;
  };
  [[nodiscard]] std::vector<Sample> sample() const;

 private:
  void forget(const Live* live) noexcept;

  const Wires& wires_;
  Meters& meters_;
  mutable std::mutex mutex_;
  std::vector<const Live*> live_;  // guarded by mutex_
};

// Renderings of a declaration: Markdown tables for the documents, a Mermaid graph, JSON with
// depths.
std::string to_markdown(const Wires& wires);
std::string to_mermaid(const Wires& wires);
std::string to_json(const Topology& topology);

}  // namespace ron::runtime
