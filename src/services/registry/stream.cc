#include "services/registry/stream.h"

#include <string>
#include <utility>
#include <variant>

#include "base/json.h"
#include "platform/executor.h"
#include "services/registry/list_bounds.h"

namespace ron::registry {

using platform::Task;

// The subscription comes before the look at HEAD: nothing falls between the two.
Stream::Stream(Core& core, http::StreamPlaces::Place place, std::optional<std::uint64_t> after)
    : core_(core), place_(std::move(place)), committed_(core.committed().subscribe("stream")) {
  const std::uint64_t head = core_.views().head()->head.version;
  next_ = after ? *after + 1 : head + 1;
  if (next_ <= head) replay_until_ = head + 1;
}

http::ServerEvent Stream::say(const chain::Head& head) {
  next_ = head.version + 1;
  std::string data;
  base::JsonWriter json(data);
  json.begin_object().key("version").value(head.version).key("b3").value(head.hash.text());
  json.end_object();
  return {.id = std::to_string(head.version), .name = "RegistryUpdated", .data = std::move(data)};
}

// What was left out is [next_, HEAD]: the client asks for HEAD and goes on from there.
http::ServerEvent Stream::skip_to(const chain::Head& head) {
  std::string data;
  base::JsonWriter json(data);
  json.begin_object().key("from").value(next_).key("to").value(head.version);
  json.key("head").begin_object().key("version").value(head.version);
  json.key("hash").value(head.hash.text()).end_object().end_object();
  next_ = head.version + 1;
  replay_until_ = 0;
  return {.id = std::to_string(head.version), .name = "gap", .data = std::move(data)};
}

Task<std::optional<http::ServerEvent>> Stream::replay() {
  const chain::Head head = core_.views().head()->head;
  // A client that missed more is told of a gap and begins at HEAD.
  if (head.version + 1 - next_ > bounds::kStreamReplay) co_return skip_to(head);
  const auto stored = co_await core_.versions(next_, 1);
  if (!stored) co_return skip_to(core_.views().head()->head);
  // What is in memory never has to be waited for.
  co_await platform::Yield();
  co_return say(stored->front().head);
}

Task<std::optional<http::ServerEvent>> Stream::next() {
  if (next_ < replay_until_) co_return co_await replay();
  for (;;) {
    const auto received = co_await committed_.recv();
    if (!received) co_return std::nullopt;
    if (const auto* head = std::get_if<Committed>(&*received)) {
      if (head->version < next_) continue;  // it was sent from the log
      if (head->version == next_) co_return say(*head);
    }
    // It lagged: whatever is in between, the latest is what counts.
    committed_.skip();
    const chain::Head head = core_.views().head()->head;
    if (head.version >= next_) co_return skip_to(head);
  }
}

}  // namespace ron::registry
