// Any bytes as an upstream's answer, cut into parts and followed by silence or the end, while the
// request may still be on its way: the client says something by its deadline, what it calls a whole
// body is what the parsers read from all bytes at once, and it keeps a connection only after an
// answer that was complete. The first byte chooses the method and the end, the second the size of
// the parts.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/client.h"
#include "http/client_exchange.h"
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
  std::string body;
};

// A request body of a few pieces, which come more slowly than most answers.
class SlowSource final : public http::BodySource {
 public:
  Task<base::Result<base::ByteView>> next() override {
    co_await platform::test::pause(5us);
    co_return pieces_-- > 0 ? base::as_bytes("piece") : base::ByteView();
  }

 private:
  int pieces_ = 3;
};

std::optional<std::string> unchunked(std::string_view text) {
  http::ChunkedDecoder chunks;
  std::string body;
  for (;;) {
    const http::ChunkStep step = chunks.feed(text);
    if (step.kind == http::ChunkStep::Kind::End) return body;
    if (step.kind == http::ChunkStep::Kind::Bad) return std::nullopt;
    body += step.data;
    text.remove_prefix(step.consumed);
    if (text.empty()) return std::nullopt;
  }
}

// The body of the answer that the bytes begin with, if it is whole.
std::optional<std::string> body_of(const Script& script, http::Method method) {
  std::string_view text = script.answer;
  http::ParsedResponse head;
  for (std::uint32_t interim = 0; interim <= http::Exchange::kInterimAnswers; ++interim) {
    const http::HeadOutcome outcome = http::parse_response_head(text, method, head);
    if (outcome.progress != http::Progress::Done || head.status == 101) return std::nullopt;
    text.remove_prefix(outcome.consumed);
    if (head.interim()) continue;
    if (head.body == http::BodyKind::None) return "";
    if (head.body == http::BodyKind::Chunked) return unchunked(text);
    if (head.body == http::BodyKind::Length && text.size() < *head.content_length) break;
    if (head.body == http::BodyKind::UntilClose && !script.ends) break;
    return std::string(text.substr(0, head.content_length.value_or(text.size())));
  }
  return std::nullopt;
}

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
    out->body += base::as_text(*piece);
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
  SlowSource source;
  http::ClientRequest request{.endpoint = node.endpoint(80)};
  if ((data[0] & 2) != 0) request.method = http::Method::Head;
  if ((data[0] & 4) != 0) {
    request.method = http::Method::Put;
    request.source = &source;
  }
  Outcome out;
  const platform::test::Root asking(peer.core(), ask(&client, request, &out));
  world.run_for(1s);
  require(out.done);
  const std::optional<std::string> expected = body_of(script, request.method);
  if (out.whole) require(expected.has_value() && out.body == *expected);
  // An upstream that leaves with the request half read resets the connection: its answer may be
  // lost.
  if (expected && !script.ends) require(out.whole);
  const http::ClientMeters counted(meters);
  require(counted.active.value() == 0);
  require(counted.idle.value() <= (out.whole ? 1 : 0));
  return 0;
}
