#include "sim/harness/raw_server.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "runtime/deadline.h"
#include "sim/harness/chunks.h"

namespace ron::sim {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr Duration kHandshakeTime = std::chrono::seconds(10);

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

}  // namespace

std::string as_chunks(std::string_view body, std::size_t piece) {
  std::string out;
  while (!body.empty()) {
    const std::string_view chunk = body.substr(0, piece);
    out += chunk_size_line(chunk.size());
    out.append(chunk).append("\r\n");
    body.remove_prefix(chunk.size());
  }
  return out;
}

std::size_t RawServer::Incoming::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count(fields, name, [](const auto& each) { return each.first; }));
}

std::string_view RawServer::Incoming::field(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, [](const auto& each) { return each.first; });
  return found == fields.end() ? std::string_view() : found->second;
}

RawServer::RawServer(Scene& scene, platform::sim::Node& node, std::uint16_t port, std::string name)
    : scene_(scene), node_(node), port_(port), name_(std::move(name)) {}

void RawServer::start() {
  if (listening_ != nullptr) return;
  if (std::exchange(dark_, false)) node_.restart();
  listening_ = std::make_unique<platform::test::Root>(node_.core(), accept_all());
}

void RawServer::kill() {
  listening_.reset();
  for (const auto& link : links_) {
    if (link->stream != nullptr) link->stream->abort();
    link->task.reset();
  }
  links_.clear();
}

void RawServer::cut_power() {
  if (std::exchange(dark_, true)) return;
  node_.power_cut();
  kill();
}

Task<void> RawServer::thaw() {
  while (now() < frozen_until_) co_await runtime::sleep_for(frozen_until_ - now());
}

Task<void> RawServer::accept_all() {
  auto listener = node_.net().listen(node_.endpoint(port_));
  if (!listener) {
    wrong("cannot listen: " + listener.error().message);
    co_return;
  }
  for (;;) {
    auto stream = co_await platform::test::accept(listener->get());
    co_await thaw();
    std::erase_if(links_, [](const auto& link) { return link->task->done(); });
    links_.push_back(std::make_unique<Link>());
    Link& link = *links_.back();
    link.stream = secure(std::move(stream));
    link.task = std::make_unique<platform::test::Root>(node_.core(), converse(&link));
  }
}

Task<void> RawServer::converse(Link* link) {
  bool goes_on = true;
  if (link->stream->needs_handshake()) {
    const base::Result<> agreed = co_await link->stream->handshake(now() + kHandshakeTime);
    goes_on = agreed.has_value();
  }
  while (goes_on) {
    Incoming request;
    goes_on = co_await read_head(link, &request);
    if (goes_on) goes_on = co_await serve(link, &request);
  }
  link->stream.reset();
}

Task<bool> RawServer::read_more(Link* link) {
  std::array<std::byte, 16 * base::kKiB> bytes;
  for (;;) {
    co_await thaw();
    const platform::IoResult result = link->stream->try_read(bytes);
    if (result.ok()) {
      link->arrived.append(base::as_text({bytes.data(), result.bytes}));
      co_return true;
    }
    if (!result.would_block()) co_return false;
    co_await link->stream->readable().wait();
  }
}

Task<bool> RawServer::write(Link* link, std::string bytes, Pace pace) {
  std::string_view left = bytes;
  while (!left.empty()) {
    co_await thaw();
    const base::ByteView span = base::as_bytes(left.substr(0, pace.piece));
    const platform::IoResult result = link->stream->try_write({&span, 1});
    if (result.ok()) {
      left.remove_prefix(result.bytes);
      if (pace.pause > Duration::zero()) co_await runtime::sleep_for(pace.pause);
    } else if (result.would_block()) {
      co_await link->stream->writable().wait();
    } else {
      co_return false;
    }
  }
  co_return true;
}

Task<bool> RawServer::read_head(Link* link, Incoming* request) {
  std::size_t end = link->arrived.find(kHeadEnd);
  while (end == std::string::npos) {
    const bool more = co_await read_more(link);
    if (!more) co_return false;
    end = link->arrived.find(kHeadEnd);
  }
  if (!parse(std::string_view(link->arrived).substr(0, end), *request)) {
    wrong("got what is not HTTP: " + link->arrived.substr(0, end));
    co_return false;
  }
  link->arrived.erase(0, end + kHeadEnd.size());
  co_return true;
}

bool RawServer::parse(std::string_view head, Incoming& request) {
  const std::size_t line_end = std::min(head.find("\r\n"), head.size());
  const std::string_view line = head.substr(0, line_end);
  const std::size_t first = line.find(' ');
  const std::size_t second = line.rfind(' ');
  if (first == std::string_view::npos || second <= first) return false;
  if (line.substr(second + 1) != "HTTP/1.1") return false;
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  head.remove_prefix(std::min(line_end + 2, head.size()));
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view field = head.substr(0, end);
    const std::size_t colon = field.find(": ");
    if (colon == std::string_view::npos || colon == 0) return false;
    request.fields.emplace_back(lower(field.substr(0, colon)), field.substr(colon + 2));
    head.remove_prefix(std::min(end + 2, head.size()));
  }
  return true;
}

// False when it ended before it was complete, which may happen.
Task<bool> RawServer::read_body(Link* link, Incoming* request) {
  if (request->field("transfer-encoding") == "chunked") {
    Chunks chunks;
    for (;;) {
      const Chunks::State state = chunks.feed(link->arrived, request->body);
      if (state == Chunks::State::Done) co_return true;
      if (state == Chunks::State::Bad) {
        wrong("got broken chunks");
        co_return false;
      }
      const bool more = co_await read_more(link);
      if (!more) co_return false;
    }
  }
  std::size_t length = 0;
  const std::string_view digits = request->field("content-length");
  std::from_chars(digits.data(), digits.data() + digits.size(), length);
  while (link->arrived.size() < length) {
    const bool more = co_await read_more(link);
    if (!more) co_return false;
  }
  request->body = link->arrived.substr(0, length);
  link->arrived.erase(0, length);
  co_return true;
}

Task<bool> RawServer::hang(Link* link) {
  bool more = true;
  while (more) more = co_await read_more(link);
  co_return false;
}

}  // namespace ron::sim
