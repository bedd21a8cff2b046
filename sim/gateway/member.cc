#include "sim/gateway/member.h"

#include <algorithm>
#include <optional>

#include "runtime/deadline.h"
#include "sim/harness/chunks.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kExcess = "and more than was announced";
// Taken for an answer only by who reads on where it should stop.
constexpr std::string_view kPoison =
    "HTTP/1.1 200 OK\r\nX-Marker: poison\r\nContent-Length: 6\r\n\r\npoison";
constexpr std::size_t kHugeHeadBytes = 96 * base::kKiB;

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

}  // namespace

Member::Member(Scene& scene, const GatewayPlan& plan, std::size_t number, Book& book)
    : RawServer(scene, scene.helper(number), kMemberPort, plan.member_name(number)),
      plan_(plan),
      number_(number),
      book_(book),
      dice_(plan.members[number].seed) {
  scene.world.network().set_link(kServerNode, node(), plan.members[number].link);
}

Member::~Member() { kill(); }

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
  if (request->target == kProbePath) co_return co_await answer_probe(link);
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
    scene_.journal.note(name(), errand->what + ": will be " + std::string(text(sighting.deed)));
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
