#include "sim/gateway/member.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "runtime/deadline.h"
#include "sim/harness/chunks.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kExcess = "and more than was announced";
// Taken for an answer only by who reads on where it should stop.
constexpr std::string_view kPoison =
    "HTTP/1.1 200 OK\r\nX-Marker: poison\r\nContent-Length: 6\r\n\r\npoison";
constexpr std::size_t kHugeHeadBytes = 96 * base::kKiB;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool has_body(int status) { return status != 204 && status != 304; }

// Bytes that no other answer has.
std::string draw_bytes(Dice& dice, std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < size; ++at) {
    if (at % sizeof word == 0) word = dice.next();
    bytes[at] = static_cast<char>('0' + ((word >> (8 * (at % sizeof word))) & 63U));
  }
  return bytes;
}

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

}  // namespace

std::size_t Member::Incoming::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count(fields, name, [](const auto& each) { return each.first; }));
}

std::string_view Member::Incoming::field(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, [](const auto& each) { return each.first; });
  return found == fields.end() ? std::string_view() : found->second;
}

Member::Member(Scene& scene, const GatewayPlan& plan, std::size_t number, Book& book)
    : scene_(scene),
      plan_(plan),
      number_(number),
      name_(plan.member_name(number)),
      book_(book),
      node_(scene.helper(number)),
      dice_(plan.members[number].seed) {
  scene.world.network().set_link(kServerNode, node_.id(), plan.members[number].link);
}

Member::~Member() { kill(); }

void Member::start() {
  if (listening_ != nullptr) return;
  if (std::exchange(dark_, false)) node_.restart();
  listening_ = std::make_unique<platform::test::Root>(node_.core(), accept_all());
}

void Member::kill() {
  listening_.reset();
  for (const auto& link : links_) {
    if (link->stream != nullptr) link->stream->abort();
    link->task.reset();
  }
  links_.clear();
}

void Member::cut_power() {
  if (std::exchange(dark_, true)) return;
  node_.power_cut();
  kill();
}

void Member::freeze(Duration lasts) { frozen_until_ = now() + lasts; }

void Member::wrong(const std::string& what) { scene_.journal.violation(name_, what); }

Task<void> Member::thaw() {
  while (now() < frozen_until_) co_await runtime::sleep_for(frozen_until_ - now());
}

Task<void> Member::accept_all() {
  auto listener = node_.net().listen(node_.endpoint(kMemberPort));
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
    link.stream = std::move(stream);
    link.task = std::make_unique<platform::test::Root>(node_.core(), converse(&link));
  }
}

Task<void> Member::converse(Link* link) {
  bool goes_on = true;
  while (goes_on) {
    Incoming request;
    goes_on = co_await read_head(link, &request);
    if (!goes_on) break;
    if (request.target == kProbePath) {
      goes_on = co_await answer_probe(link);
    } else {
      goes_on = co_await serve(link, &request);
    }
  }
  link->stream.reset();
}

Task<bool> Member::read_more(Link* link) {
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

Task<bool> Member::write(Link* link, std::string bytes, Pace pace) {
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

Task<bool> Member::read_head(Link* link, Incoming* request) {
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

bool Member::parse(std::string_view head, Incoming& request) const {
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
Task<bool> Member::read_body(Link* link, Incoming* request) {
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

Task<bool> Member::answer_probe(Link* link) {
  if (!calm_ && dice_.chance(plan_.members[number_].bad_probes)) {
    ++scene_.journal.tally.faults["health probes of upstreams failed"];
    book_.trouble(number_, now(), now());
    if (dice_.chance(50)) co_return false;
    co_return co_await write(link, "HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n", Pace());
  }
  co_return co_await write(link, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Pace());
}

// That the gateway sent what its client did, and nothing that was not meant to go on.
bool Member::check(const Incoming& request, const Errand& errand) {
  const auto is_wrong = [&](std::string_view what) {
    wrong(std::string(what) + ": " + errand.what);
    return false;
  };
  if (request.method != errand.method) return is_wrong("got another method");
  if (request.target != errand.target) return is_wrong("got another target");
  if (request.count("host") != 1) return is_wrong("not one Host");
  if (request.count("x-corr-id") != 1) return is_wrong("not one X-Corr-ID");
  if (request.count("x-forwarded-for") != 1) return is_wrong("not one X-Forwarded-For");
  if (request.field("x-forwarded-for") == "192.0.2.66") return is_wrong("a forged address");
  if (request.count("x-hop") != 0) return is_wrong("got a field of the connection before");
  const bool sized = request.count("content-length") == 1;
  const bool chunked = request.count("transfer-encoding") == 1;
  if (sized && chunked) return is_wrong("two lengths");
  if (!errand.idempotent() && !errand.seen.empty()) return is_wrong("was sent twice");
  return true;
}

Deed Member::draw_deed(const Incoming& request) {
  if (calm_) return Deed::Answer;
  if (!dice_.chance(plan_.members[number_].misdeeds)) {
    return dice_.chance(5) ? Deed::Interim : Deed::Answer;
  }
  const auto deed = static_cast<Deed>(dice_.between(static_cast<std::uint64_t>(Deed::CloseAfter),
                                                    static_cast<std::uint64_t>(Deed::HugeHead)));
  const bool needs_body = deed == Deed::Long || deed == Deed::Short || deed == Deed::BadChunk ||
                          deed == Deed::ResetMidBody || deed == Deed::HangMidBody ||
                          deed == Deed::Dribble;
  return needs_body && request.method == "HEAD" ? Deed::Slow : deed;
}

Task<bool> Member::serve(Link* link, Incoming* request) {
  Errand* const errand = book_.find(request->field("x-corr-id"));
  if (errand == nullptr) {
    wrong("got a request that nobody sent: " + request->method + " " + request->target);
    co_return false;
  }
  if (!check(*request, *errand)) co_return false;
  errand->seen.push_back({.member = number_, .at = now(), .deed = draw_deed(*request), .body = {}});
  Sighting& sighting = errand->seen.back();
  if (is_misdeed(sighting.deed)) {
    ++scene_.journal.tally.faults["requests upstreams " + std::string(text(sighting.deed))];
    book_.trouble(number_, now(), now());
    scene_.journal.note(name_, errand->what + ": will be " + std::string(text(sighting.deed)));
  }
  if (sighting.deed != Deed::Early) {
    sighting.body_came = co_await read_body(link, request);
    if (!sighting.body_came) co_return false;
    if (request->body != errand->body) {
      wrong("got another body: " + errand->what);
      co_return false;
    }
    if (!link->arrived.empty()) {
      wrong("got bytes behind a request: " + errand->what);
      co_return false;
    }
  }
  co_return co_await act(link, request, errand, &sighting);
}

Task<bool> Member::hang(Link* link) {
  bool more = true;
  while (more) more = co_await read_more(link);
  co_return false;
}

Task<bool> Member::act(Link* link, Incoming* request, Errand* errand, Sighting* sighting) {
  switch (sighting->deed) {
    case Deed::Reset:
      link->stream->abort();
      co_return false;
    case Deed::Close:
      co_return false;
    case Deed::Hang:
      co_return co_await hang(link);
    case Deed::Garbage:
      co_await write(link, "220 mail.example.org ESMTP\r\n\r\n", Pace());
      co_return false;
    case Deed::HugeHead: {
      std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
      while (head.size() < kHugeHeadBytes) head += "X-Filler: " + std::string(1000, 'x') + "\r\n";
      co_await write(link, head + "\r\n", Pace());
      co_return false;
    }
    case Deed::Interim:
      co_await write(link, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", Pace());
      break;
    case Deed::Slow:
      co_await runtime::sleep_for(dice_.between(1ms, Duration(dice_.chance(70) ? 200ms : 3s)));
      break;
    default:
      break;
  }
  const bool goes_on = co_await answer(link, request, errand, sighting);
  if (sighting->deed != Deed::Early || !goes_on) co_return goes_on;
  // What comes of the body now is nobody's.
  if (dice_.chance(50)) co_return false;
  co_return co_await read_body(link, request);
}

void Member::draw_answer(Sighting& sighting) {
  sighting.status = 200;
  if (!calm_ && dice_.chance(10)) sighting.status = dice_.pick({201, 204, 304, 404, 410, 500});
  if (sighting.deed == Deed::Unavailable) sighting.status = dice_.pick({502, 503, 504});
  const bool needs_body = sighting.deed != Deed::Unavailable && is_misdeed(sighting.deed);
  if (needs_body) sighting.status = 200;
  std::uint64_t size = dice_.chance(85) ? dice_.below(3000) : dice_.below(plan_.largest_body);
  if (needs_body) size = std::max<std::uint64_t>(size, 2);
  if (has_body(sighting.status)) sighting.body = draw_bytes(dice_, size);
}

// Whoever reads it gets all of it at once: then there is no excuse for taking it for an answer.
bool Member::may_poison() const {
  const platform::sim::FaultPlan& faults = plan_.world.faults;
  return faults.split_segment == 0 && faults.short_write == 0 && faults.lose_segment == 0;
}

Task<bool> Member::answer(Link* link, const Incoming* request, Errand* errand, Sighting* sighting) {
  draw_answer(*sighting);
  const Deed deed = sighting->deed;
  if (sighting->deed != Deed::Unavailable) book_.answered(number_);
  Framing framing = dice_.pick({Framing::Length, Framing::Length, Framing::Chunked});
  if (deed == Deed::BadChunk) framing = Framing::Chunked;
  if (deed == Deed::Long) framing = Framing::Length;
  const bool bodiless = !has_body(sighting->status) || request->method == "HEAD";
  if (!is_misdeed(deed) && !bodiless && dice_.chance(5)) framing = Framing::UntilClose;
  const std::string& body = sighting->body;
  const std::size_t number = static_cast<std::size_t>(
      std::ranges::find(errand->seen, sighting, [](Sighting& each) { return &each; }) -
      errand->seen.begin());
  std::string out = "HTTP/1.1 " + std::to_string(sighting->status) +
                    " Reason\r\nX-Marker: " + Book::marker(*errand, number) +
                    "\r\nX-Corr-ID: 01ARZ3NDEKTSV4RRFFQ69G5FAV\r\nConnection: ";
  const bool closes = framing == Framing::UntilClose || dice_.chance(10);
  out += closes ? "close, X-Hop\r\nX-Hop: 1\r\n" : "X-Hop\r\nX-Hop: 1\r\n";
  const std::size_t missing = deed == Deed::Short ? dice_.between(1, 100) : 0;
  if (has_body(sighting->status)) {
    if (framing == Framing::Length) {
      out += "Content-Length: " + std::to_string(body.size() + missing) + "\r\n";
    } else if (framing == Framing::Chunked) {
      out += "Transfer-Encoding: chunked\r\n";
    }
  }
  out += "\r\n";
  const std::size_t head_bytes = out.size();
  const bool chunked = framing == Framing::Chunked;
  if (!bodiless) out += chunked ? as_chunks(body, dice_.between(1, body.size() + 1)) : body;
  Pace pace;
  switch (deed) {
    case Deed::BadChunk:
      co_await write(link, out + "zz\r\n", Pace());
      co_return false;
    case Deed::Short:
      co_await write(link, out, Pace());
      co_return false;
    case Deed::ResetMidBody:
    case Deed::HangMidBody:
      out.resize(dice_.between(head_bytes, out.size() - 1));
      co_await write(link, out, Pace());
      if (deed == Deed::HangMidBody) co_return co_await hang(link);
      // What was sent arrives before the reset does.
      if (dice_.chance(70)) co_await runtime::sleep_for(dice_.between(0ms, Duration(20ms)));
      link->stream->abort();
      co_return false;
    case Deed::Long:
      out += out.size() < 1000 && may_poison() ? kPoison : kExcess;
      break;
    case Deed::Dribble:
      pace.piece = 1 + out.size() / 10;
      pace.pause = dice_.between(1ms, Duration(dice_.chance(70) ? 20ms : 250ms));
      break;
    default:
      break;
  }
  if (!bodiless && chunked && deed != Deed::Long) out += kLastChunk;
  const bool sent = co_await write(link, out, pace);
  co_return sent && !closes && deed != Deed::CloseAfter;
}

}  // namespace ron::sim
