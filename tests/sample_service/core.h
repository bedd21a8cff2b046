// Core: the logic of svc-sample. Any executor.
#pragma once

#include <atomic>
#include <string>
#include <variant>

#include "observe/log.h"
#include "runtime/broadcast.h"
#include "sample_service/config.h"
#include "services/kit/job.h"
#include "services/kit/work_queue.h"

namespace ron::sample {

struct EchoJob : kit::JobBase<std::string> {
  std::string text;
};
struct Echoed {
  std::string text;
};

class Core {
 public:
  Core(runtime::Topology& topology, const SampleConfig& config);

  // The text, once the worker has said it. Busy when too many wait. Cancel-safe.
  platform::Task<base::Result<std::string>> echo(std::string text, runtime::Deadline deadline);
  // The body of a supervised task.
  platform::Task<void> worker(runtime::Shutdown shutdown);
  void apply(const SampleConfig& config) noexcept { delay_ = config.delay; }

  [[nodiscard]] runtime::Broadcast<Echoed>& events() noexcept { return events_; }
  [[nodiscard]] std::uint64_t echoes() const noexcept { return echoes_.value(); }

 private:
  platform::Task<void> say(EchoJob job);

  std::atomic<base::Duration> delay_;
  kit::WorkQueue<std::variant<EchoJob>> work_;
  runtime::Broadcast<Echoed> events_;
  runtime::Counter& echoes_;
};

}  // namespace ron::sample
