// Stream: `GET /registry/stream`, what was committed as server-sent events.
//
// It follows HEAD: after a resume it first sends what its client missed, from the log, and whoever
// reads too slowly skips to the latest with an event that says what was left out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "http/event_stream.h"
#include "http/stream_places.h"
#include "platform/task.h"
#include "runtime/broadcast.h"
#include "runtime/permit.h"
#include "services/registry/core.h"

namespace ron::registry {

// Made and used on the connection's core. The core outlives it.
class Stream final : public http::EventSource {
 public:
  // `after`: the last version the client has seen; nothing: it begins with what comes next.
  Stream(Core& core, http::StreamPlaces::Place place, std::optional<std::uint64_t> after);

  // Cancel-safe.
  platform::Task<std::optional<http::ServerEvent>> next() override;

 private:
  platform::Task<std::optional<http::ServerEvent>> replay();
  http::ServerEvent skip_to(const chain::Head& head);
  http::ServerEvent say(const chain::Head& head);

  Core& core_;
  http::StreamPlaces::Place place_;
  runtime::Broadcast<Committed>::Subscription committed_;
  std::uint64_t next_;              // the first version that was not sent
  std::uint64_t replay_until_ = 0;  // versions below this come from the log
};

}  // namespace ron::registry
