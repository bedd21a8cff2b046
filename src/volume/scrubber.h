// Scrubber: reads the whole medium and checks everything that counts against its address, slowly.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/meter.h"
#include "runtime/pacer.h"
#include "runtime/shutdown.h"
#include "volume/reader.h"
#include "volume/state.h"

namespace ron::volume {

// One run() at a time, on any executor; progress and requests from any thread. Reads past the page
// cache where that is possible. When a pass is over is written to the file SCRUBBED, so that the
// time to the next one counts from it in whatever process; without it the next is due at once,
// unless the volume is new. State and reader outlive it.
class Scrubber {
 public:
  Scrubber(VolumeState* state, Reader* reader, runtime::Meters& meters);
  Scrubber(const Scrubber&) = delete;
  Scrubber& operator=(const Scrubber&) = delete;

  platform::Task<void> run(runtime::Shutdown shutdown);
  void request() noexcept { requested_.store(true, std::memory_order_release); }
  void set_rate(platform::TimePoint now, base::Rate rate) { pacer_.set_rate(now, rate); }
  [[nodiscard]] ScrubProgress progress() const;

 private:
  platform::Task<void> load_finished();
  platform::Task<void> save_finished(std::int64_t when);
  [[nodiscard]] std::int64_t unix_s() const { return state_->host().clock.unix_ms() / 1000; }
  [[nodiscard]] bool due() const;
  platform::Task<base::Result<void>> pass(runtime::Shutdown shutdown);
  platform::Task<base::Result<void>> check_segment(SegmentPtr segment, std::uint64_t end,
                                                   runtime::Shutdown shutdown);
  platform::Task<SegmentPtr> uncached(SegmentPtr segment);
  // Records the index refers to but a scan does not find: their heads are damaged.
  platform::Task<base::Result<void>> check_missing(SegmentPtr segment, std::uint64_t end);
  platform::Task<base::Result<void>> check_entry(SegmentPtr segment, std::string key,
                                                 std::string value, std::uint64_t end);
  platform::Task<bool> pace(std::uint64_t bytes, runtime::Shutdown shutdown);

  VolumeState* state_;
  Reader* reader_;
  runtime::Pacer pacer_;
  std::uint64_t unpaced_ = 0;
  std::atomic<bool> requested_ = false;
  std::atomic<bool> running_ = false;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::uint64_t> total_ = 0;
  std::atomic<std::uint64_t> found_ = 0;
  std::atomic<std::uint64_t> passes_ = 0;
  std::atomic<std::int64_t> started_unix_s_ = 0;
  std::atomic<std::int64_t> finished_unix_s_ = 0;
  std::int64_t last_unix_s_ = 0;  // when a pass was last over, in any process; 0: never
};

}  // namespace ron::volume
