#include "sim/index/proxy.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/encoding.h"
#include "runtime/deadline.h"
#include "services/index/dht_answer.h"
#include "sim/harness/chunks.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

std::string line_of(std::string_view bytes) {
  return R"({"data":")" + base::to_base64(base::as_bytes(bytes)) + "\",\"id\":\"1\",\"type\":0}\n";
}

}  // namespace

Proxy::Proxy(Scene& scene, const IndexPlan& plan, std::size_t number, const Records& records)
    : RawServer(scene, scene.helper(number), kProxyPort, "proxy " + std::to_string(number)),
      own_(plan.proxies[number]),
      number_(number),
      records_(records),
      dice_(own_.seed) {}

Proxy::~Proxy() { kill(); }

ProxyDeed Proxy::draw_deed() {
  if (calm_ || !dice_.chance(own_.misdeeds)) return ProxyDeed::Answer;
  return static_cast<ProxyDeed>(dice_.between(static_cast<std::uint64_t>(ProxyDeed::Slow),
                                              static_cast<std::uint64_t>(ProxyDeed::NoHttp)));
}

std::string Proxy::values_of(const Incoming& request, ProxyDeed deed) {
  if (deed == ProxyDeed::Forget) return "";
  std::string out;
  if (deed == ProxyDeed::Noise) out += line_of("not a record") + "{\"type\":3}\n";
  const std::string_view key = std::string_view(request.target).substr(1);
  for (const auto& record : records_.at(static_cast<std::uint8_t>(number_), key, dice_)) {
    out += line_of(catalog::encode(record));
  }
  if (deed == ProxyDeed::Garbage) out.insert(0, "<html>no</html>\n");
  if (deed == ProxyDeed::EndlessLine) {
    out.insert(0, std::string(index::DhtAnswer::kMaxLineBytes + dice_.below(base::kMiB), 'x'));
  }
  return out;
}

Task<bool> Proxy::serve(Link* link, Incoming* request) {
  const bool came = co_await read_body(link, request);
  if (!came) co_return false;
  const ProxyDeed deed = draw_deed();
  if (deed != ProxyDeed::Answer) {
    ++scene_.journal.tally.faults["requests proxies " + std::string(text(deed))];
  }
  switch (deed) {
    case ProxyDeed::Reset:
      link->stream->abort();
      co_return false;
    case ProxyDeed::Hang:
      co_return co_await hang(link);
    case ProxyDeed::NoHttp:
      co_await write(link, "220 mail.example.org ESMTP\r\n\r\n", Pace());
      co_return false;
    case ProxyDeed::Unavailable:
      co_return co_await write(link,
                               dice_.chance(50) ? "HTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n"
                                                : "HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n",
                               Pace());
    case ProxyDeed::Slow:
      co_await runtime::sleep_for(dice_.between(1ms, Duration(dice_.chance(70) ? 200ms : 3s)));
      break;
    default:
      break;
  }
  std::string body = request->method == "GET" ? values_of(*request, deed) : "{}\n";
  co_return co_await answer(link, std::move(body), deed);
}

Task<bool> Proxy::answer(Link* link, std::string body, ProxyDeed deed) {
  const bool is_chunked = dice_.chance(50);
  std::string out = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  out += is_chunked ? "Transfer-Encoding: chunked\r\n\r\n"
                    : "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  const std::size_t head_bytes = out.size();
  const std::size_t piece = dice_.between(1, body.size() + 1);
  out += is_chunked ? as_chunks(body, std::max<std::size_t>(piece, body.size() / 10 + 1)) : body;
  if (is_chunked) out += kLastChunk;
  Pace pace;
  if (deed == ProxyDeed::Dribble) {
    pace.piece = 1 + out.size() / 10;
    pace.pause = dice_.between(1ms, Duration(dice_.chance(70) ? 20ms : 250ms));
  }
  if ((deed == ProxyDeed::Cut || deed == ProxyDeed::HangMidBody) && out.size() > head_bytes) {
    out.resize(dice_.between(head_bytes, out.size() - 1));
    co_await write(link, out, Pace());
    if (deed == ProxyDeed::HangMidBody) co_return co_await hang(link);
    link->stream->abort();
    co_return false;
  }
  const bool sent = co_await write(link, std::move(out), pace);
  co_return sent && !dice_.chance(10);
}

}  // namespace ron::sim
