#include "sim/edge/origin.h"

#include <algorithm>
#include <array>
#include <utility>

#include <zlib.h>

#include "runtime/deadline.h"
#include "sim/harness/chunks.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t kPort = 443;
constexpr std::string_view kCookie = "Set-Cookie: id=poison\r\n";

std::string gzip(const std::string& bytes) {
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string length_line(std::size_t bytes) {
  return "Content-Length: " + std::to_string(bytes) + "\r\n\r\n";
}

std::string version_tag(std::uint64_t version, std::string_view language) {
  return "\"v" + std::to_string(version) + std::string(language) + "\"";
}

// The bytes are honest, whatever else is wrong.
bool is_honest(OriginDeed deed) {
  using enum OriginDeed;
  return deed == Answer || deed == Slow || deed == Dribble || deed == Gzip;
}

// Ends in something that is no representation of anything.
bool is_bodiless(OriginDeed deed) {
  using enum OriginDeed;
  return deed == Hang || deed == Reset || deed == NoHttp || deed == OtherTag ||
         deed == Unavailable || deed == OddStatus;
}

}  // namespace

Origin::Origin(Scene& scene, const EdgePlan& plan, std::size_t number, Shelf& shelf,
               std::shared_ptr<const platform::TlsServer> tls)
    : RawServer(scene, scene.helper(number), kPort, "origin " + std::to_string(number)),
      plan_(plan),
      own_(plan.origins[number]),
      number_(number),
      shelf_(shelf),
      tls_(std::move(tls)),
      dice_(own_.seed) {}

Origin::~Origin() { kill(); }

OriginDeed Origin::draw_deed() {
  if (calm_ || !dice_.chance(own_.misdeeds)) return OriginDeed::Answer;
  return static_cast<OriginDeed>(dice_.between(static_cast<std::uint64_t>(kFirstMisdeed),
                                               static_cast<std::uint64_t>(kLastMisdeed)));
}

std::optional<std::size_t> Origin::find(std::string_view target) const {
  const auto found = std::ranges::find_if(plan_.urls, [&](const UrlPlan& url) {
    return url.origin == number_ && url.target == target;
  });
  if (found == plan_.urls.end()) return std::nullopt;
  return static_cast<std::size_t>(found - plan_.urls.begin());
}

// Nothing of a client's but what chooses between variants.
void Origin::check(const Incoming& request) {
  for (const std::string_view field : {"authorization", "cookie", "x-corr-id", "range"}) {
    if (request.count(field) != 0) wrong("got a client's " + std::string(field));
  }
  if (request.method != "GET") wrong("got " + request.method);
  if (request.field("host") != EdgePlan::host(number_)) {
    wrong("got a request for " + std::string(request.field("host")));
  }
}

Task<bool> Origin::serve(Link* link, Incoming* request) {
  const bool came = co_await read_body(link, request);
  if (!came) co_return false;
  ++requests_;
  check(*request);
  const auto url = find(request->target);
  if (!url) {
    // A circle of redirects leads here.
    if (!request->target.starts_with("/circle/")) wrong("got a request for " + request->target);
    co_return co_await redirect(link, request->target == "/circle/a" ? "/circle/b" : "/circle/a");
  }
  co_return co_await answer(link, request, *url);
}

Task<bool> Origin::answer(Link* link, Incoming* request, std::size_t url) {
  const UrlPlan& what = plan_.urls[url];
  const OriginDeed deed = draw_deed();
  if (deed != OriginDeed::Answer) {
    ++scene_.journal.tally.faults["requests origins " + std::string(text(deed))];
    scene_.journal.note(name(), std::string(text(deed)) + ": " + request->target);
  }
  const TimePoint asked = now();
  if (deed == OriginDeed::Slow) {
    co_await runtime::sleep_for(dice_.between(1ms, Duration(dice_.chance(70) ? 200ms : 3s)));
  }
  const std::string_view wanted = request->field("accept-language");
  const bool is_odd = wanted == kOddLanguage;
  if (is_odd && is_honest(deed)) co_return co_await answer_odd(link, url);
  if (deed == OriginDeed::Missing) {
    shelf_.offer(url, {.status = 404,
                       .tag = "",
                       .asked = asked,
                       .policy = what.policy,
                       .language = std::string(wanted)});
    co_return co_await write(link, "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", Pace());
  }
  const std::string where = redirect_to(deed);
  if (!where.empty()) co_return co_await redirect(link, where);
  if (is_bodiless(deed)) co_return co_await misbehave(link, deed);
  if (what.leads_to) {
    const unsigned lasts_s = what.redirect_lasts_s;
    co_return co_await redirect(
        link, "https://" + plan_.name(*what.leads_to),
        lasts_s == 0 ? "" : "Cache-Control: max-age=" + std::to_string(lasts_s) + "\r\n");
  }
  const std::string language = what.varies ? std::string(wanted) : "";
  const std::uint64_t version = is_honest(deed) ? shelf_.version(url, now()) : shelf_.poison();
  std::string body = shelf_.body(url, version, language);
  const std::string tag = version_tag(version, language);
  Reply reply;
  reply.head = "Cache-Control: " + what.policy.text() + "\r\n";
  if (what.policy.sets_cookie) reply.head += kCookie;
  if (what.policy.age_s != 0) reply.head += "Age: " + std::to_string(what.policy.age_s) + "\r\n";
  if (what.varies) reply.head += "Vary: Accept-Language\r\n";
  if (is_honest(deed) && request->field("if-none-match") == tag) {
    shelf_.offer(url,
                 {.status = 304, .tag = shelf_.keep(body), .asked = asked, .policy = what.policy});
    co_return co_await write(
        link, "HTTP/1.1 304 Same\r\nETag: " + tag + "\r\n" + reply.head + "\r\n", Pace());
  }
  reply.head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + reply.head;
  if (deed == OriginDeed::WeakTag) reply.head += "ETag: W/" + tag + "\r\n";
  if (deed != OriginDeed::WeakTag && deed != OriginDeed::NoTag) {
    reply.head += "ETag: " + tag + "\r\n";
  }
  if (is_honest(deed)) {
    shelf_.offer(url,
                 {.status = 200, .tag = shelf_.keep(body), .asked = asked, .policy = what.policy});
  } else if (deed == OriginDeed::TooLong) {
    // Nobody can see that what was said to be all of it is not.
    const std::string said = body.substr(0, body.size() / 2);
    shelf_.offer(url,
                 {.status = 200, .tag = shelf_.keep(said), .asked = asked, .policy = what.policy});
  }
  reply.body = std::move(body);
  co_return is_honest(deed) ? co_await send(link, std::move(reply), deed)
                            : co_await send_broken(link, std::move(reply), deed);
}

// It says nothing of whom else it would refuse, as most origins do not.
Task<bool> Origin::answer_odd(Link* link, std::size_t url) {
  std::string head = "HTTP/1.1 400 Odd\r\n";
  if (plan_.urls[url].lacks_odd) {
    shelf_.offer(url, {.status = 404,
                       .tag = "",
                       .asked = now(),
                       .policy = plan_.urls[url].policy,
                       .language = std::string(kOddLanguage)});
    head = "HTTP/1.1 404 No\r\n";
    if (dice_.chance(50)) head += "Cache-Control: no-cache\r\n";
  }
  co_return co_await write(link, head + "Content-Length: 0\r\n\r\n", Pace());
}

Task<bool> Origin::misbehave(Link* link, OriginDeed deed) {
  switch (deed) {
    case OriginDeed::Reset:
      link->stream->abort();
      co_return false;
    case OriginDeed::Hang:
      co_return co_await hang(link);
    case OriginDeed::NoHttp:
      co_await write(link, "220 mail.example.org ESMTP\r\n\r\n", Pace());
      co_return false;
    case OriginDeed::OtherTag:
      co_return co_await write(link, "HTTP/1.1 304 Same\r\nETag: \"other\"\r\n\r\n", Pace());
    case OriginDeed::OddStatus:
      co_return co_await write(link,
                               dice_.pick<std::string>({
                                   "HTTP/1.1 206 Part\r\nContent-Range: bytes 0-1/9\r\n"
                                   "ETag: \"x\"\r\nContent-Length: 2\r\n\r\nab",
                                   "HTTP/1.1 204 None\r\nETag: \"x\"\r\n\r\n",
                                   "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
                                   "HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n",
                               }),
                               Pace());
    default:
      co_return co_await write(
          link,
          dice_.pick<std::string>(
              {"HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n",
               "HTTP/1.1 503 Later\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n",
               "HTTP/1.1 504 Late\r\nContent-Length: 0\r\n\r\n"}),
          Pace());
  }
}

std::string Origin::redirect_to(OriginDeed deed) {
  switch (deed) {
    case OriginDeed::RedirectLoop:
      return "/circle/a";
    case OriginDeed::RedirectInside:
      return dice_.pick<std::string>({"https://127.0.0.1/", "https://10.0.0.1/p/1",
                                      "https://[::1]/", "https://localhost/",
                                      "https://" + private_address(plan_, number_) + "/p/1"});
    case OriginDeed::RedirectAway:
      return "https://evil.example.net/p/1";
    case OriginDeed::RedirectPlain:
      return "http://" + EdgePlan::host(number_) + "/p/1";
    default:
      return "";
  }
}

Task<bool> Origin::redirect(Link* link, std::string_view where, std::string_view fields) {
  return write(link,
               "HTTP/1.1 302 There\r\nLocation: " + std::string(where) + "\r\n" +
                   std::string(fields) + "Content-Length: 0\r\n\r\n",
               Pace());
}

// Whole, in one of the ways to be.
Task<bool> Origin::send(Link* link, Reply reply, OriginDeed deed) {
  if (deed == OriginDeed::Gzip) {
    reply.head += "Content-Encoding: gzip\r\n";
    reply.body = gzip(reply.body);
  }
  const bool is_chunked = dice_.chance(50);
  std::string out = std::move(reply.head);
  if (is_chunked) {
    const std::size_t piece = 1 + reply.body.size() / dice_.between(1, 10);
    out += "Transfer-Encoding: chunked\r\n\r\n" + as_chunks(reply.body, piece);
    out += kLastChunk;
  } else {
    out += length_line(reply.body.size()) + reply.body;
  }
  Pace pace;
  if (deed == OriginDeed::Dribble) {
    pace.piece = 1 + out.size() / 10;
    pace.pause = dice_.between(1ms, Duration(dice_.chance(70) ? 20ms : 250ms));
  }
  const bool sent = co_await write(link, std::move(out), pace);
  co_return sent && !dice_.chance(10);
}

Task<bool> Origin::send_broken(Link* link, Reply reply, OriginDeed deed) {
  std::string out = std::move(reply.head);
  std::string& body = reply.body;
  const std::size_t part = body.empty() ? 0 : dice_.below(body.size());
  bool resets = false;
  bool hangs = false;
  switch (deed) {
    case OriginDeed::Cut:
    case OriginDeed::HangMidBody:
      out += length_line(body.size() + 1) + body.substr(0, part);
      resets = deed == OriginDeed::Cut;
      hangs = !resets;
      break;
    case OriginDeed::TooShort:
      out += length_line(body.size() + dice_.between(1, 1000)) + body;
      break;
    case OriginDeed::TooLong:
      out += length_line(body.size() / 2) + body;
      break;
    case OriginDeed::ChunkGarbage:
      out += "Transfer-Encoding: chunked\r\n\r\n" + as_chunks(body, 1 + body.size() / 3);
      out += dice_.pick<std::string>(
                 {"zz\r\n", "5\r\nabcdefgh\r\n", "-1\r\n\r\n", "ffffffffffffffffff\r\n"}) +
             "\r\n";
      break;
    case OriginDeed::ChunksUnfinished:
      out += "Transfer-Encoding: chunked\r\n\r\n" + as_chunks(body, 1 + body.size() / 3);
      break;
    case OriginDeed::Bomb:
      body = gzip(std::string(base::kMiB, 'x'));
      out += "Content-Encoding: gzip\r\n" + length_line(body.size()) + body;
      break;
    case OriginDeed::BadGzip:
      body = dice_.chance(50) ? "no gzip" : gzip(body + "and more").substr(0, 12 + part / 2);
      out += "Content-Encoding: gzip\r\n" + length_line(body.size()) + body;
      break;
    case OriginDeed::OddCoding:
      out += "Content-Encoding: rot13\r\n" + length_line(body.size()) + body;
      break;
    case OriginDeed::TooLarge:
      if (dice_.chance(50)) {
        out += length_line(base::kMiB);
        hangs = true;
      } else {
        out += "Transfer-Encoding: chunked\r\n\r\n" +
               as_chunks(std::string(300 * base::kKiB, 'x'), 64 * base::kKiB) +
               std::string(kLastChunk);
      }
      break;
    default:
      out += length_line(body.size()) + body;
      break;
  }
  const bool sent = co_await write(link, std::move(out), Pace());
  if (hangs && sent) co_return co_await hang(link);
  if (resets) link->stream->abort();
  co_return false;
}

}  // namespace ron::sim
