#include "platform/posix/host.h"

#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace ron::platform::posix {
namespace {

std::vector<std::unique_ptr<Loop>> make_loops(std::size_t count) {
  std::vector<std::unique_ptr<Loop>> loops;
  for (std::size_t i = 0; i < count; ++i) loops.push_back(std::make_unique<Loop>());
  return loops;
}

// As many as the system lets it: the usual soft limit of 1,024 is for programs that call select(),
// and a store of 256 GiB has as many segments.
void raise_open_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace

PosixHost::PosixHost(PosixHostOptions options)
    : options_(options),
      loops_(make_loops(options.cores == 0 ? 1 : options.cores)),
      blocking_(options.blocking_threads, options.blocking_queue),
      resolver_(blocking_),
      key_values_(blocking_),
      disk_(blocking_, options.disk) {
  // RocksDB leaves the modes of its files to the process.
  umask(S_IRWXG | S_IRWXO);
  raise_open_files();
  for (const auto& loop : loops_) cores_.push_back(loop.get());
  signals_.attach(*loops_.front());
}

Host PosixHost::host() noexcept {
  return {cores_, clock_,      random_,  net_,      resolver_,
          disk_,  key_values_, signals_, blocking_, send_arena_};
}

void PosixHost::run(Job& main_job) {
  // Whatever ends this scope, the threads are told before they are waited for.
  struct Threads {
    PosixHost& host;
    std::vector<std::jthread> running;
    ~Threads() { host.stop(); }
  };
  Threads threads{*this, {}};
  for (std::size_t core = 1; core < loops_.size(); ++core) {
    threads.running.emplace_back([this, core] {
      pin_to(core);
      loops_[core]->run();
    });
  }
  pin_to(0);
  loops_.front()->post(main_job);
  loops_.front()->run();
}

void PosixHost::stop() noexcept {
  for (const auto& loop : loops_) loop->stop();
}

// To the core-th CPU this process may use; threads beyond those stay free.
void PosixHost::pin_to(std::size_t core) const noexcept {
  cpu_set_t allowed;
  if (!options_.pin || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::size_t index = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index++ != core) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    return;
  }
}

}  // namespace ron::platform::posix
