// PosixHost: the real machine. Owns the signals, the loops with their threads, the blocking pool
// and the disk, in the order they have to come and go.
//
//   PosixHost machine({.cores = 4});
//   machine.run(main_job);   // until stop(), called by any job
//
// Make it on the main thread before any other thread exists: signals are blocked first and all
// threads inherit that. From then on the process makes files that only its user can read. One run
// per host. Every task must be gone when run() returns or, at the latest, when the host is
// destroyed. Destroying it waits for the jobs of the blocking pool without a bound: whoever wants
// one closes the pool first.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "platform/host.h"
#include "platform/posix/blocking.h"
#include "platform/posix/clock.h"
#include "platform/posix/disk.h"
#include "platform/posix/loop.h"
#include "platform/posix/net.h"
#include "platform/posix/random.h"
#include "platform/posix/resolver.h"
#include "platform/posix/rocks_key_value.h"
#include "platform/posix/send_arena.h"
#include "platform/posix/signals.h"

namespace ron::platform::posix {

struct PosixHostOptions {
  std::size_t cores = 1;
  bool pin = false;  // each loop's thread to a CPU of its own, as far as they go
  std::size_t blocking_threads = kBlockingThreads;
  std::size_t blocking_queue = 256;
  DiskEngine disk = DiskEngine::Uring;
};

class PosixHost {
 public:
  // Throws std::system_error when the kernel refuses what a start needs.
  explicit PosixHost(PosixHostOptions options = {});
  PosixHost(const PosixHost&) = delete;
  PosixHost& operator=(const PosixHost&) = delete;

  [[nodiscard]] Host host() noexcept;
  [[nodiscard]] std::size_t cores() const noexcept { return loops_.size(); }
  [[nodiscard]] const PosixDisk& disk() const noexcept { return disk_; }

  // Posts the job to core 0 and runs that on the calling thread, the other cores on threads of
  // their own, until stop(). All threads have ended when it returns.
  void run(Job& main_job);
  // Any thread. The loops end after their current turn.
  void stop() noexcept;

  // ThreadPool::close() of the blocking pool, once run() has returned.
  std::vector<RunningJob> close_blocking(std::optional<base::Duration> patience) {
    return blocking_.close(patience);
  }
  // What the blocking pool is at. Any thread.
  [[nodiscard]] std::vector<RunningJob> running_jobs() const { return blocking_.running(); }

 private:
  void pin_to(std::size_t core) const noexcept;

  PosixHostOptions options_;
  SystemSignals signals_;
  SystemClock clock_;
  SystemRandom random_;
  SocketNet net_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<Executor*> cores_;
  ThreadPool blocking_;  // its threads wake tasks on the loops
  SystemResolver resolver_;
  MemfdArena send_arena_{256 * base::kMiB};
  RocksKeyValues key_values_;
  PosixDisk disk_;  // its rings are registered with the loops
};

}  // namespace ron::platform::posix
