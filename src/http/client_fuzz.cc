// Any bytes as an upstream's answer, cut into parts and followed by silence or the end: the client
// says something by its deadline, gives out no more than was sent, and keeps a connection only
// after an answer that was complete. The first byte chooses the method and the end, the second the
// size of the parts.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "http/client.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace {

using namespace ron;
using namespace std::chrono_literals;
using platform::Task;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Script {
  std::string_view answer;
  std::size_t part;
  bool ends;
};

struct Outcome {
  bool done = false;
  bool whole = false;
  std::size_t body_bytes = 0;
};

Task<void> answer(platform::Net* net, platform::Endpoint at, Script script) {
  const auto listener = net->listen(at);
  for (;;) {
    std::unique_ptr<platform::Stream> stream = co_await platform::test::accept(listener->get());
    co_await platform::test::read_up_to(stream.get(), 1);
    for (std::size_t from = 0; from < script.answer.size(); from += script.part) {
      const std::string part(script.answer.substr(from, script.part));
      co_await platform::test::write_all(stream.get(), part);
      co_await platform::test::pause(1us);
    }
    if (!script.ends) co_await platform::test::pause(1h);
  }
}

Task<void> ask(http::Client* client, http::ClientRequest request, Outcome* out) {
  auto response = co_await client->send(request, runtime::Deadline::in(1s));
  while (response) {
    const auto piece = co_await response->next();
    if (!piece) break;
    out->whole = piece->empty();
    if (piece->empty()) break;
    out->body_bytes += piece->size();
  }
  out->done = true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Script script{text, data[1] + std::size_t{1}, (data[0] & 1) != 0};
  platform::sim::World world(1);
  platform::sim::Node& node = world.add_node();
  platform::sim::Node& peer = world.add_node();
  const platform::test::Root upstream(node.core(), answer(&node.net(), node.endpoint(80), script));
  world.run_for(0ms);
  runtime::Meters meters("fuzz");
  http::Client client(peer.net(), {}, meters);
  Outcome out;
  const platform::test::Root asking(
      peer.core(), ask(&client,
                       {.endpoint = node.endpoint(80),
                        .method = (data[0] & 2) != 0 ? http::Method::Head : http::Method::Get},
                       &out));
  world.run_for(1s);
  require(out.done);
  require(out.body_bytes <= text.size());
  const http::ClientMeters counted(meters);
  require(counted.active.value() == 0);
  require(counted.idle.value() <= (out.whole ? 1 : 0));
  return 0;
}
