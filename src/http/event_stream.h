// Server-sent events (the `text/event-stream` format of the HTML standard).
//
// A stream holds the events of one write and the one behind them: more are asked for when the
// client has taken those. What happens meanwhile is the source's to keep, and a bounded one tells
// its reader what it missed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "platform/task.h"

namespace ron::http {

struct ServerEvent {
  std::string id{};    // what a client that comes back says in Last-Event-ID; empty: not said
  std::string name{};  // empty: `message`, to whoever listens
  std::string data{};  // any text; its lines are sent as such
};

class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  // Nothing: the stream is over. The wait ends with the client, or with the server's drain.
  virtual platform::Task<std::optional<ServerEvent>> next() = 0;
};

// A silent stream says so this often, for whatever stands between us and the client.
inline constexpr base::Duration kHeartbeat = std::chrono::seconds(15);
inline constexpr std::string_view kHeartbeatComment = ":\n\n";
// A larger event is a mistake of its source and ends the stream.
inline constexpr std::size_t kEventBytes = 64 * base::kKiB;
// Events that are there at the same time leave together, until they come to this much.
inline constexpr std::size_t kEventsAtOnceBytes = 16 * base::kKiB;

// The event as it is sent. Line breaks in id and name, and NUL in the id, are left out: an event
// is never two.
std::string render(const ServerEvent& event);

}  // namespace ron::http
