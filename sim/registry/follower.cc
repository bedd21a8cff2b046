#include "sim/registry/follower.h"

#include <charconv>
#include <utility>

#include "runtime/deadline.h"
#include "sim/harness/chunks.h"
#include "sim/harness/judge.h"
#include "sim/harness/server_node.h"
#include "sim/harness/tokens.h"
#include "sim/registry/judge.h"

namespace ron::sim {

using namespace std::chrono_literals;
using base::Code;

ApiFollower::ApiFollower(Scene& scene, registry_api::RegistryApi& api, Ledger& ledger)
    : scene_(scene), api_(api), ledger_(ledger), task_(scene.server->node().core(), follow()) {}

void ApiFollower::hear(const registry_api::Head& head, std::uint64_t floor) {
  const auto wrong = ledger_.told(head.version, head.hash.text(), floor);
  if (wrong) scene_.journal.violation("follower", *wrong);
}

Task<void> ApiFollower::follow() {
  while (!scene_.journal.failed()) {
    const auto head = co_await api_.changed(seen_, runtime::Deadline::in(1s), {});
    if (!head) {
      if (head.error().code == Code::Timeout) continue;
      scene_.journal.violation("follower", "changed: " + head.error().message);
      co_return;
    }
    const bool is_first = seen_ == registry_api::Head();
    hear(*head, is_first ? 0 : seen_.version + 1);
    seen_ = *head;
    ++changes_;
    co_await look_up();
  }
}

// What it asks for then is as new at least.
Task<void> ApiFollower::look_up() {
  const auto directory = co_await api_.directory("region", runtime::Deadline::in(1s));
  if (!directory) {
    scene_.journal.violation("follower", "directory: " + directory.error().message);
    co_return;
  }
  hear((*directory)->head, seen_.version);
}

StreamReader::StreamReader(Scene& scene, Ledger& ledger, const std::string& token)
    : scene_(scene),
      ledger_(ledger),
      token_(token),
      dice_(scene.plan.seed ^ 0x57E4ULL),
      task_(scene.helper(0).core(), run()) {}

Task<void> StreamReader::run() {
  while (!stopping_ && !scene_.journal.failed()) {
    const Life& life = scene_.timeline.now_living();
    if (life.opened != kNever) co_await listen(life.bind);
    co_await runtime::sleep_for(dice_.between(1ms, Duration(300ms)));
  }
}

Task<void> StreamReader::listen(platform::Endpoint at) {
  HttpClient http(scene_.helper(0).host());
  const int error = co_await http.connect(at, now() + 1s);
  if (error != 0) co_return;
  const bool is_open = co_await ask(&http);
  if (is_open) co_await read_events(&http);
}

// Mostly it goes on where it was, or where it was long ago.
std::string StreamReader::request() {
  std::string head =
      "GET /registry/stream HTTP/1.1\r\nHost: registry\r\nX-Corr-ID: " + draw_corr_id(dice_) +
      "\r\nAuthorization: Bearer " + token_ + "\r\n";
  resumes_ = last_.has_value() && dice_.chance(80);
  if (resumes_ && dice_.chance(30)) last_ = dice_.below(*last_ + 1);
  if (resumes_) head += "Last-Event-ID: " + std::to_string(*last_) + "\r\n";
  return head + "\r\n";
}

Task<bool> StreamReader::ask(HttpClient* http) {
  ++scene_.heavy[scene_.timeline.current()];
  std::string bytes = request();
  // Without one it begins with what comes next: behind all that anybody was told of by now.
  if (!resumes_) last_ = ledger_.newest();
  const WriteEnd written = co_await http->write(std::move(bytes), Pace(), now() + 5s);
  if (written != WriteEnd::Done) co_return false;
  Answer answer;
  const ReadEnd end = co_await http->read_head(&answer, now() + 10s);
  if (end == ReadEnd::Malformed) scene_.journal.violation("stream", http->complaint());
  if (end != ReadEnd::Answer) co_return false;
  scene_.journal.note("stream", "-> " + std::to_string(answer.status));
  if (answer.status == 409) {
    scene_.journal.violation("stream", "version " + std::to_string(*last_) + " is not there");
  }
  co_return answer.status == 200;
}

// Slowly now and then, and for a while.
Task<void> StreamReader::read_events(HttpClient* http) {
  Pace pace;
  if (dice_.chance(40)) pace = {dice_.between(20, 400), dice_.between(1ms, Duration(200ms))};
  const TimePoint until = now() + dice_.between(10ms, Duration(dice_.chance(50) ? 300ms : 5s));
  Chunks chunks;
  std::string text;
  while (!stopping_ && !scene_.journal.failed() && now() < until) {
    const ReadEnd end = co_await http->read_some(&chunks, &text, pace, now() + 50ms);
    if (end == ReadEnd::Malformed) scene_.journal.violation("stream", http->complaint());
    if (end != ReadEnd::Answer && end != ReadEnd::TimedOut) co_return;
    take_lines(text);
  }
}

void StreamReader::take_lines(std::string& text) {
  for (std::size_t end = text.find("\n\n"); end != std::string::npos; end = text.find("\n\n")) {
    std::string_view block(text.data(), end);
    Event event;
    while (!block.empty()) {
      const std::size_t line_end = std::min(block.find('\n'), block.size());
      const std::string_view line = block.substr(0, line_end);
      block.remove_prefix(std::min(line_end + 1, block.size()));
      if (line.starts_with("id: ")) event.id = line.substr(4);
      if (line.starts_with("event: ")) event.name = line.substr(7);
      if (line.starts_with("data: ")) event.data = line.substr(6);
    }
    text.erase(0, end + 2);
    // Else it is a sign of life.
    if (!event.name.empty()) take(event);
  }
}

void StreamReader::take(const Event& event) {
  std::uint64_t id = 0;
  const char* const end = event.id.data() + event.id.size();
  const auto parsed = std::from_chars(event.id.data(), end, id);
  ++events_;
  std::optional<std::string> wrong;
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    wrong = "an event without a version";
  } else if (event.name == "RegistryUpdated") {
    wrong = judge_update(id, event.data);
  } else if (event.name == "gap") {
    ++gaps_;
    wrong = judge_gap(id, event.data);
  } else {
    wrong = "an event nobody knows";
  }
  scene_.journal.note("stream", event.name + " " + event.id);
  if (wrong) scene_.journal.violation("stream", *wrong + ": " + event.name + " " + event.data);
  last_ = id;
  resumes_ = true;
}

std::optional<std::string> StreamReader::judge_update(std::uint64_t id, std::string_view data) {
  if (json_number(data, "version") != id) return "the event of another version";
  const bool is_next = resumes_ ? id == *last_ + 1 : id > *last_;
  if (!is_next) return "after version " + std::to_string(*last_) + ", without a gap event";
  return ledger_.told(id, std::string(json_text(data, "b3")), 0);
}

std::optional<std::string> StreamReader::judge_gap(std::uint64_t id, std::string_view data) {
  const auto from = json_number(data, "from");
  if (!from || json_number(data, "to") != id || json_number(data, "version") != id) {
    return "a gap that does not say what it is";
  }
  const bool is_next = resumes_ ? *from == *last_ + 1 : *from > *last_;
  if (!is_next || id < *from) return "a gap after version " + std::to_string(*last_);
  return ledger_.told(id, std::string(json_text(data, "hash")), 0);
}

}  // namespace ron::sim
