// EdgeParts: what the parts of svc-edge share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "observe/log.h"
#include "platform/host.h"
#include "platform/tls.h"
#include "runtime/broadcast.h"
#include "runtime/meter.h"
#include "runtime/topology.h"
#include "runtime/watch.h"
#include "services/edge/config.h"
#include "services/edge/events.h"
#include "services/edge/loader.h"
#include "services/edge/metric_names.h"

namespace ron::edge {

// In the order of metrics::kRejectReasons.
enum class Reject : std::uint8_t {
  Amnesia,
  NotAllowed,
  DecompressCap,
  BodyCap,
  Timeout,
  RateLimit,
  InvalidRange,
  EtagInvalid
};

// Any core.
class Rejects {
 public:
  explicit Rejects(runtime::Meters& meters);
  void count(Reject reason) noexcept { by_reason_[static_cast<std::size_t>(reason)]->add(); }

 private:
  std::array<runtime::Counter*, metrics::kRejectReasons.size()> by_reason_;
};

class Origins;

// All of it outlives the parts.
struct EdgeParts {
  platform::Host host;
  runtime::Topology* topology;
  std::string directory;  // its part of the data directory; empty: nothing is kept (amnesia)
  std::shared_ptr<const platform::TlsClient> tls;  // whom it trusts to be who they say
  observe::Log log;
  runtime::Watch<SettingsPtr>* settings;
  runtime::Broadcast<EdgeEvent>* events;
  Loader* loader;
  Rejects* rejects;
  Origins* origins = nullptr;  // who is asked for what is not here
};

}  // namespace ron::edge
