// Compactor: gives back the space of what was deleted or replaced. Reads a sealed segment, has the
// writer append what still counts, and then has it remove the segment. Also ends uploads that have
// expired.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/mpsc.h"
#include "runtime/shutdown.h"
#include "volume/commands.h"
#include "volume/reader.h"
#include "volume/state.h"

namespace ron::volume {

// One run() at a time, on any executor. Copies travel in commands of at most kCopyBytes, one at a
// time, so that clients' writes wait for little. State, channel and reader outlive it.
class Compactor {
 public:
  Compactor(VolumeState* state, runtime::Mpsc<Command>* commands, Reader* reader)
      : state_(state), commands_(commands), reader_(reader) {}
  Compactor(const Compactor&) = delete;
  Compactor& operator=(const Compactor&) = delete;

  platform::Task<void> run(runtime::Shutdown shutdown);
  // A pass over everything with anything dead, soon. Any thread.
  void request() noexcept { requested_.store(true, std::memory_order_release); }
  // Segments removed by one pass: those with at least the configured share dead, or all with
  // anything dead. What goes wrong with one is reported and does not keep it from the others; it is
  // tried again by the next pass. Cancel-safe: what was copied stays copied.
  platform::Task<base::Result<std::uint64_t>> pass(bool everything, runtime::Shutdown shutdown);
  // Ends uploads whose time has come; how many. Cancel-safe.
  platform::Task<base::Result<std::uint64_t>> expire(std::int64_t now_unix_s,
                                                     runtime::Shutdown shutdown);

 private:
  static constexpr std::uint64_t kCopyBytes = 1 * base::kMiB;
  static constexpr std::size_t kCopyRecords = 64;

  struct Findings {
    std::vector<DropCommand::Tombstone> tombstones;  // nobody needs them any more
    // Places without a record, from and to: padding, or a record whose head has rotted.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
    bool stuck = false;  // something that counts cannot be copied
  };

  enum class Use : std::uint8_t {
    Needed,
    Done,  // a tombstone of what is nowhere any more
    Dead,  // nothing refers to it
  };

  [[nodiscard]] std::vector<std::uint64_t> candidates(bool everything) const;
  platform::Task<base::Result<bool>> holds_dead(std::uint64_t number, runtime::Shutdown shutdown);
  platform::Task<base::Result<Use>> use_of(const Record* record, Place place);
  platform::Task<base::Result<bool>> compact(std::uint64_t number, runtime::Shutdown shutdown);
  platform::Task<base::Result<Findings>> copy_live(SegmentPtr segment, std::uint64_t end,
                                                   runtime::Shutdown shutdown);
  platform::Task<base::Result<void>> flush(std::vector<Copy>* copies, runtime::Shutdown shutdown);

  VolumeState* state_;
  runtime::Mpsc<Command>* commands_;
  Reader* reader_;
  std::atomic<bool> requested_ = false;
  std::set<std::uint64_t> stuck_;  // segments that hold damage, or cannot be read whole
};

// Submits a command that is made with the reply it owes, and waits for the answer: StorageBusy when
// the queue stays full, Canceled when the volume or the caller is stopping. Cancel-safe: the
// command may still happen.
template <class T, class Make>
platform::Task<base::Result<T>> ask(runtime::Mpsc<Command>* commands, runtime::Shutdown shutdown,
                                    Make make) {
  constexpr base::Duration kQueueWait = std::chrono::seconds(10);
  constexpr base::Duration kLookEvery = std::chrono::seconds(1);
  auto [sender, receiver] = runtime::oneshot<base::Result<T>>();
  auto sent = co_await commands->send(make(std::move(sender)), runtime::Deadline::in(kQueueWait));
  if (!sent) co_return base::fail(base::Code::StorageBusy, "the volume's queue of writes is full");
  for (;;) {
    auto answer = co_await receiver.recv(runtime::Deadline::in(kLookEvery));
    if (answer) co_return std::move(*answer);
    if (answer.error() != runtime::Waited::TimedOut || shutdown.requested()) {
      co_return base::fail(base::Code::Canceled, "the volume is stopping");
    }
  }
}

}  // namespace ron::volume
