// EventFeed: what a service announces, as an event stream to a client.
//
//   co_return http::Response::events(std::make_unique<EventFeed<Change>>(changes, say));
//
// The channel is the only buffer: a client that reads too slowly misses the oldest and is told how
// many.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "http/event_stream.h"
#include "platform/task.h"
#include "runtime/broadcast.h"

namespace ron::kit {

// How a gap is told unless the service has words of its own.
inline http::ServerEvent say_missed(std::uint64_t missed) {
  return {.name = "missed", .data = std::to_string(missed)};
}

// Made and used on the connection's core; the channel outlives it. Everything sent after it was
// made is in it.
template <class Event>
class EventFeed final : public http::EventSource {
 public:
  using Say = std::function<http::ServerEvent(const Event&)>;
  using SayMissed = std::function<http::ServerEvent(std::uint64_t missed)>;

  EventFeed(runtime::Broadcast<Event>& events, Say say, SayMissed say_gap = say_missed)
      : subscription_(events.subscribe()), say_(std::move(say)), say_missed_(std::move(say_gap)) {}

  // Cancel-safe.
  platform::Task<std::optional<http::ServerEvent>> next() override {
    auto received = co_await subscription_.recv();
    if (!received) co_return std::nullopt;
    if (const auto* lagged = std::get_if<runtime::Lagged>(&*received)) {
      co_return say_missed_(lagged->missed);
    }
    co_return say_(std::get<Event>(*received));
  }

 private:
  runtime::Broadcast<Event>::Subscription subscription_;
  Say say_;
  SayMissed say_missed_;
};

}  // namespace ron::kit
