// For the tests of this folder: a frame log on a simulated machine, used step by step.
#pragma once

#include <algorithm>
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
  explicit TestLog(volume::Machine& machine, std::uint64_t segment_bytes = 64 * base::kKiB)
      : TestLog(machine, machine.node.disk(), segment_bytes) {}
  TestLog(volume::Machine& machine, platform::Disk& disk, std::uint64_t segment_bytes)
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
                                              std::size_t max_bytes = 1 << 24) {
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

inline std::string frame_text(std::uint64_t number) {
  return "frame " + std::to_string(1'000'000 + number) + std::string(150, 'f');
}

// Makes a log of `count` frames in segments of this size.
inline void fill(volume::Machine& machine, std::uint64_t segment_bytes, std::uint64_t count) {
  TestLog log(machine, segment_bytes);
  if (!log.open()) throw std::runtime_error("cannot open the log");
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!log.append({frame_text(i)})) throw std::runtime_error("cannot append");
  }
}

// Makes a log of these frames, one batch each; where they stand. Its process has crashed: nothing
// says that the last one was acknowledged.
inline std::vector<std::uint64_t> fill_one_segment(volume::Machine& machine,
                                                   const std::vector<std::string>& frames) {
  TestLog log(machine);
  if (!log.open()) throw std::runtime_error("cannot open the log");
  std::vector<std::uint64_t> offsets;
  std::uint64_t offset = kSegmentHeadBytes;
  for (const std::string& frame : frames) {
    if (!log.append({frame})) throw std::runtime_error("cannot append");
    offsets.push_back(std::exchange(offset, offset + stored_frame_bytes(frame.size())));
  }
  return offsets;
}

inline std::string path_of(std::uint64_t segment) {
  return "/log/segments/" + segment_name(segment);
}

inline std::vector<std::string> names(volume::Machine& machine, const std::string& folder) {
  std::vector<std::string> names;
  const auto entries = run(machine, machine.node.disk().list(folder));
  for (const platform::DirectoryEntry& entry : *entries) names.push_back(entry.name);
  std::ranges::sort(names);
  return names;
}
inline std::vector<std::string> segments(volume::Machine& machine) {
  return names(machine, "/log/segments");
}

struct Inspected {
  base::Result<LogInspection> result;
  std::vector<FrameDamage> damage;
  std::vector<std::string> visited;
};

inline Inspected inspect(volume::Machine& machine) {
  Inspected inspected;
  inspected.result =
      run(machine, FrameLog::inspect(
                       &machine.node.disk(), "/log",
                       [&](const FrameView& frame) -> base::Result<void> {
                         inspected.visited.emplace_back(base::as_text(frame.bytes));
                         return {};
                       },
                       [&](const FrameDamage& damage) { inspected.damage.push_back(damage); }));
  return inspected;
}

}  // namespace ron::chain
