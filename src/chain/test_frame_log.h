// For the tests of this folder: a frame log on a simulated machine, used step by step.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chain/frame_log.h"
#include "runtime/test_wires.h"
#include "volume/test_support.h"

namespace ron::chain {

// Runs a task on the machine to its end; what it returns.
template <class T>
T run(volume::Machine& machine, platform::Task<T> task) {
  struct Store {
    static platform::Task<void> into(platform::Task<T> task, std::optional<T>* result) {
      T value = co_await task;
      *result = std::move(value);
    }
  };
  std::optional<T> result;
  machine.run(Store::into(std::move(task), &result));
  return std::move(*result);
}

// One life of a log's process; destroying it is a crash.
class TestLog {
 public:
  TestLog(volume::Machine& machine, platform::Disk& disk, std::uint64_t segment_bytes = 64 * 1024)
      : machine_(machine),
        log_(FrameLogOptions{
            .disk = &disk,
            .random = &machine.node.host().random,
            .lock = &runtime::kTestLocks[0],
            .directory = "/log",
            .segment_bytes = segment_bytes,
            .on_trouble = [this](std::string_view text) { trouble.emplace_back(text); }}) {}

  base::Result<void> open(std::uint64_t from = 0) {
    return run(machine_, log_.open(from, [this](const FrameView& frame) -> base::Result<void> {
      numbers.push_back(frame.number);
      visited.emplace_back(base::as_text(frame.bytes));
      return {};
    }));
  }
  base::Result<void> append(std::vector<std::string> frames) {
    return run(machine_, log_.append(std::move(frames)));
  }
  base::Result<void> repair() { return run(machine_, log_.repair()); }
  base::Result<void> close() { return run(machine_, log_.close()); }
  base::Result<std::uint64_t> drop_below(std::uint64_t number) {
    return run(machine_, log_.drop_below(number));
  }
  base::Result<std::vector<std::string>> read(std::uint64_t first, std::size_t count,
                                              std::size_t max_bytes = 1 << 20) {
    return run(machine_, log_.read(first, count, max_bytes));
  }
  FrameLog* operator->() { return &log_; }
  FrameLog& operator*() { return log_; }

  std::vector<std::uint64_t> numbers;  // that open() visited
  std::vector<std::string> visited;
  std::vector<std::string> trouble;

 private:
  volume::Machine& machine_;
  FrameLog log_;
};

}  // namespace ron::chain
