#include "sample_service/core.h"

#include <utility>

#include "sample_service/metric_names.h"
#include "sample_service/wires.h"

namespace ron::sample {

using platform::Task;

Core::Core(runtime::Topology& topology, const SampleConfig& config)
    : delay_(config.delay),
      work_(topology, kWork, config.work_capacity),
      events_(topology, kEvents, config.events_capacity),
      echoes_(topology.meters().counter(metrics::kEchoesTotal)) {}

Task<base::Result<std::string>> Core::echo(std::string text, runtime::Deadline deadline) {
  EchoJob job;
  job.text = std::move(text);
  job.deadline = deadline;
  return work_.ask(std::move(job), kit::WhenFull::Refuse);
}

Task<void> Core::worker(runtime::Shutdown shutdown) {
  return work_.work(std::move(shutdown), 0, [this](EchoJob job) { return say(std::move(job)); });
}

Task<void> Core::say(EchoJob job) {
  co_await runtime::sleep_for(delay_);
  events_.send({job.text});
  echoes_.add();
  std::move(*job.reply).send(std::move(job.text));
}

}  // namespace ron::sample
