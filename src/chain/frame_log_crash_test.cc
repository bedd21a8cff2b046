// What was acknowledged is there after every crash, and what was undone stays so: for a fault at
// every single operation of a script, and for random histories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chain/frame_log.h"
#include "chain/test_fault_disk.h"
#include "chain/test_frame_log.h"

namespace ron::chain {
namespace {

using volume::Machine;

constexpr std::uint64_t kSegmentBytes = 1500;

// A log, what is known of it, and its lives one after the other.
class History {
 public:
  explicit History(std::uint64_t seed) : machine_(seed), disk_(machine_.node) {}

  FaultDisk& disk() { return disk_; }
  Machine& machine() { return machine_; }
  FrameLog& log() { return **log_; }

  // Opens the log and compares it with what is known. False if it cannot be opened.
  bool open() {
    log_.reset();
    log_ = std::make_unique<TestLog>(machine_, disk_, kSegmentBytes);
    const auto opened = log_->open();
    if (!opened) {
      last_error = opened.error().message;
      return false;
    }
    const std::uint64_t first = log().first();
    const std::uint64_t next = log().next();
    if (first > dropped_below_) violation("segments are gone that nobody dropped");
    if (first < first_) violation("dropped segments are back");
    if (next < acknowledged_.size()) violation("acknowledged frames are lost");
    for (std::size_t i = 0; i < log_->numbers.size(); ++i) {
      if (log_->numbers[i] != first + i) violation("a number is missing");
    }
    if (log_->numbers.size() != next - first) violation("not all frames were visited");
    for (std::uint64_t number = first; number < next; ++number) {
      const std::string& frame = log_->visited[number - first];
      const bool known = number < acknowledged_.size();
      const std::uint64_t doubtful = known ? 0 : number - acknowledged_.size();
      if (known && frame != acknowledged_[number]) violation("a frame has changed");
      if (!known && doubtful >= in_doubt_.size()) violation("a frame that nobody wrote");
      if (!known && doubtful < in_doubt_.size() && frame != in_doubt_[doubtful]) {
        violation("a frame that was undone is back");
      }
    }
    // What is there now has to stay.
    for (std::uint64_t number = acknowledged_.size(); number < next; ++number) {
      acknowledged_.push_back(log_->visited[number - first]);
    }
    in_doubt_.clear();
    return true;
  }

  void append(std::size_t frames, std::size_t bytes) {
    if (log().needs_repair()) return repair();
    if (!append_once(frames, bytes)) repair();
  }
  // Leaves the repair to the caller.
  bool append_once(std::size_t frames, std::size_t bytes) {
    std::vector<std::string> batch = make(frames, bytes);
    in_doubt_ = batch;
    const auto appended = log_->append(std::move(batch));
    if (appended) {
      acknowledged_.insert(acknowledged_.end(), in_doubt_.begin(), in_doubt_.end());
      in_doubt_.clear();
    }
    return appended.has_value();
  }
  void repair() {
    if (log_->repair()) in_doubt_.clear();
  }
  void drop_below(std::uint64_t number) {
    dropped_below_ = std::max(dropped_below_, std::min<std::uint64_t>(number, next()));
    const auto first = log_->drop_below(number);
    if (!first) return;
    if (*first > std::max(number, first_)) violation("more is dropped than was asked for");
    first_ = *first;
  }
  // Everything that is there can be read, whatever was read before.
  void read_all() {
    const std::uint64_t first = log().first();
    std::uint64_t number = first;
    while (number < log().next()) {
      const auto frames = log_->read(number, 7, 700);
      if (!frames) return violation("cannot read: " + frames.error().message);
      if (frames->empty()) return violation("nothing is read");
      for (const std::string& frame : *frames) {
        if (frame != acknowledged_[number++]) violation("another frame is read");
      }
    }
  }
  // Appends beside reads, and ends in the middle: what is under way in the kernel comes to its end.
  void crash_during_append(std::size_t frames, std::size_t bytes, base::Duration after) {
    std::vector<std::string> batch = make(frames, bytes);
    in_doubt_ = batch;
    base::Result<void> result = base::fail(base::Code::Canceled, "");
    {
      const platform::test::Root root(machine_.node.core(),
                                      store(log().append(std::move(batch)), &result));
      machine_.world.run_for(after);
    }
    if (result) {
      acknowledged_.insert(acknowledged_.end(), in_doubt_.begin(), in_doubt_.end());
      in_doubt_.clear();
    }
    log_.reset();
    machine_.world.run_for(std::chrono::seconds(10));
  }
  void power_cut() {
    machine_.node.power_cut();
    restart();
  }
  void restart() {
    log_.reset();
    machine_.node.restart();
  }
  // The next life sees what is there, and so does the one after it.
  void expect_sound(const std::string& where) {
    disk_.disarm();
    restart();
    for (int life = 0; life < 2; ++life) {
      if (!open()) violation("cannot be opened: " + last_error);
      if (!violations.empty()) break;
      read_all();
      append(2, 100);
      read_all();
    }
    for (const std::string& text : violations) ADD_FAILURE() << where << ": " << text;
  }

  std::vector<std::string> violations;
  std::string last_error;
  [[nodiscard]] std::uint64_t next() const { return acknowledged_.size(); }

 private:
  static platform::Task<void> store(platform::Task<base::Result<void>> task,
                                    base::Result<void>* result) {
    *result = co_await task;
  }
  std::vector<std::string> make(std::size_t frames, std::size_t bytes) {
    std::vector<std::string> batch;
    for (std::size_t i = 0; i < frames; ++i) {
      std::string frame = std::to_string(++made_) + ":";
      frame.append(bytes, static_cast<char>('a' + made_ % 26));
      batch.push_back(std::move(frame));
    }
    return batch;
  }
  void violation(std::string text) { violations.push_back(std::move(text)); }

  Machine machine_;
  FaultDisk disk_;
  std::unique_ptr<TestLog> log_;
  std::vector<std::string> acknowledged_;
  std::vector<std::string> in_doubt_;  // failed or cut short, and not repaired
  std::uint64_t dropped_below_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t made_ = 0;
};

// Making the log, batches with and without a new segment, a restart, dropping, closing.
void run_script(History& history) {
  if (!history.open()) return;
  history.append(3, 200);
  history.append(1, 0);
  history.append(2, 700);
  history.append(1, 1600);
  history.append(4, 100);
  history.drop_below(4);
  history.append(1, 512);
  if (!history.open()) return;
  history.append(5, 60);
  history.drop_below(history.next());
}

std::uint64_t script_operations() {
  History history(1);
  run_script(history);
  return history.disk().changes();
}

TEST(FrameLogCrash, AnyOperationMayFailOrBeTheLast) {
  const std::uint64_t operations = script_operations();
  EXPECT_GT(operations, 60U);
  for (const Fault fault : kFaults) {
    for (std::uint64_t at = 0; at < operations && !HasFailure(); ++at) {
      for (std::uint64_t seed = 1; seed <= 4 && !HasFailure(); ++seed) {
        History history(seed);
        history.disk().arm(at, fault);
        run_script(history);
        EXPECT_TRUE(history.disk().has_struck());
        history.expect_sound("fault " + std::to_string(static_cast<int>(fault)) + " at operation " +
                             std::to_string(at) + ", seed " + std::to_string(seed));
      }
    }
  }
}

// The repair after a failed sync, too, may fail at any of its operations.
TEST(FrameLogCrash, AnyOperationOfARepairMayFailOrBeTheLast) {
  for (const bool in_empty_segment : {true, false}) {
    for (const Fault fault : kFaults) {
      for (std::uint64_t at = 0; at < 12 && !HasFailure(); ++at) {
        for (std::uint64_t seed = 1; seed <= 4 && !HasFailure(); ++seed) {
          History history(seed);
          ASSERT_TRUE(history.open());
          if (!in_empty_segment) history.append(2, 100);
          history.machine().node.disk().fail_next(platform::sim::DiskOp::Sync);
          ASSERT_FALSE(history.append_once(3, 300));
          history.disk().arm(at, fault);
          history.repair();
          if (!history.log().needs_repair()) history.append(1, 50);
          history.expect_sound("fault " + std::to_string(static_cast<int>(fault)) +
                               " at operation " + std::to_string(at) + ", seed " +
                               std::to_string(seed));
        }
      }
    }
  }
}

void run_random(History& history, std::uint64_t seed, std::uint64_t steps) {
  platform::FastRandom random(seed);
  if (!history.open()) return;
  for (std::uint64_t step = 0; step < steps && history.violations.empty(); ++step) {
    const std::size_t frames = 1 + random.below(6);
    const std::size_t bytes = random.below(4) == 0 ? random.below(3000) : random.below(200);
    switch (random.below(12)) {
      case 0:
        history.power_cut();
        if (!history.open()) history.violations.push_back(history.last_error);
        break;
      case 1:
        history.crash_during_append(frames, bytes, std::chrono::microseconds(random.below(2500)));
        if (random.below(2) == 0) history.power_cut();
        if (!history.open()) history.violations.push_back(history.last_error);
        break;
      case 2: {
        history.disk().arm(random.below(8), kFaults[random.below(4)]);
        history.append(frames, bytes);
        history.disk().disarm();
        if (!history.log().needs_repair()) break;
        history.restart();
        if (!history.open()) history.violations.push_back(history.last_error);
        break;
      }
      case 3:
        history.drop_below(random.below(history.next() + 1));
        break;
      case 4:
        history.read_all();
        break;
      case 5:  // readable, but not on the medium
        history.machine().node.disk().fail_next(platform::sim::DiskOp::Sync);
        static_cast<void>(history.append_once(frames, bytes));
        history.machine().node.disk().fail_next(platform::sim::DiskOp::Sync, 0);
        if (!history.open()) history.violations.push_back(history.last_error);
        break;
      default:
        history.append(frames, bytes);
    }
  }
}

TEST(FrameLogCrash, RandomHistoriesKeepWhatWasAcknowledged) {
  for (std::uint64_t seed = 1; seed <= 500 && !HasFailure(); ++seed) {
    History history(seed);
    run_random(history, seed, 40);
    history.expect_sound("seed " + std::to_string(seed));
  }
}

// The test above would notice a log that does not sync.
TEST(FrameLogCrash, AMissingSyncIsNoticed) {
  std::uint64_t noticed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    History history(seed);
    history.disk().ignore_syncs();
    run_random(history, seed, 40);
    if (!history.violations.empty()) ++noticed;
  }
  EXPECT_GT(noticed, 15U);
}

}  // namespace
}  // namespace ron::chain
