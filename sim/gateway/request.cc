#include "sim/gateway/request.h"

#include <algorithm>
#include <utility>

#include "auth/capability.h"
#include "b3/hash.h"
#include "base/bytes.h"
#include "sim/harness/chunks.h"
#include "sim/harness/tokens.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

// An upstream may take that much longer for its body than a request has until its head: drop by
// drop, or until it is given up in the middle.
constexpr Duration kLongestBody = 6s;

Pass any_pass(Dice& dice) {
  using enum Pass;
  if (dice.chance(75)) return dice.pick({Tenant0, Tenant0, Tenant1, Tenant2});
  return dice.pick({Nameless, Nameless, None, None, Expired, Garbage});
}

std::string as_chunks(Dice& dice, std::string_view body) {
  std::string out;
  while (!body.empty()) {
    const std::size_t size = dice.between(1, std::min<std::size_t>(body.size(), 9000));
    out += chunk_size_line(size);
    out.append(body.substr(0, size)).append("\r\n");
    body.remove_prefix(size);
  }
  return out.append(kLastChunk);
}

std::string draw_body(Dice& dice) {
  if (dice.chance(20)) return {};
  const std::size_t size = dice.chance(85) ? dice.below(2000) : dice.below(40'000);
  return std::string(size, static_cast<char>('a' + dice.below(26))) + std::to_string(dice.next());
}

}  // namespace

Passes make_passes(Dice dice, std::int64_t now_unix_s) {
  Passes passes;
  passes.keyring = make_keyring(dice, now_unix_s);
  const auto add = [&](std::vector<auth::Caveat> caveats) {
    passes.texts.push_back(mint(dice, *passes.keyring, std::move(caveats), now_unix_s));
  };
  for (std::size_t i = 0; i < kTenants; ++i) add({auth::TenantCaveat{"t" + std::to_string(i)}});
  add({});
  add({auth::ExpiresCaveat{now_unix_s - 1}});
  passes.texts.emplace_back("bm90LWEtdG9rZW4");
  passes.texts.emplace_back();
  return passes;
}

std::string GatewayRequest::tenant() const {
  const auto number = static_cast<std::size_t>(pass);
  return number < kTenants ? "t" + std::to_string(number) : std::string();
}

std::string object_address(const std::string& bytes) {
  return b3::hash(base::as_bytes(bytes)).text();
}

std::unique_ptr<GatewayRequest> GatewayRequests::any(Dice& dice, bool alone) const {
  if (plan_.with_storage && dice.chance(15)) {
    return store(dice, dice.chance(40), dice.below(plan_.objects.size()));
  }
  auto request = std::make_unique<GatewayRequest>();
  request->pass = any_pass(dice);
  request->method = dice.pick(
      {"GET", "GET", "GET", "GET", "HEAD", "PUT", "PUT", "POST", "POST", "DELETE", "PATCH"});
  request->asks_close = alone && dice.chance(5);
  if (dice.chance(4)) {
    request->garbage = true;
  } else if (dice.chance(3)) {
    request->is_missing = true;
  } else if (dice.chance(3)) {
    request->method = "GET";
    request->asks_ready = dice.chance(50);
  } else {
    request->group = dice.chance(70) ? 0 : 1;
    request->foreign_host = dice.chance(5);
  }
  const bool may_have_body =
      request->method == "PUT" || request->method == "POST" || request->method == "PATCH";
  if (request->group && may_have_body) {
    request->has_body = true;
    request->plain_body = draw_body(dice);
    request->chunked = dice.chance(25);
    request->expects_continue = alone && dice.chance(10);
  }
  compose(dice, *request);
  return request;
}

std::unique_ptr<GatewayRequest> GatewayRequests::plain(Dice& dice, const std::string& method,
                                                       std::size_t group, Pass pass) const {
  auto request = std::make_unique<GatewayRequest>();
  request->method = method;
  request->group = group;
  request->pass = pass;
  request->has_body = method == "PUT" || method == "POST";
  if (request->has_body) request->plain_body = "body " + std::to_string(dice.next());
  compose(dice, *request);
  return request;
}

std::unique_ptr<GatewayRequest> GatewayRequests::store(Dice& dice, bool puts,
                                                       std::size_t object) const {
  auto request = std::make_unique<GatewayRequest>();
  request->method = puts ? "POST" : "GET";
  request->object = object;
  request->pass = Pass::Nameless;
  request->has_body = puts;
  if (puts) request->plain_body = plan_.objects[object];
  compose(dice, *request);
  return request;
}

void GatewayRequests::add_body(Dice& dice, GatewayRequest& request) const {
  request.encoded_bytes = request.decoded_bytes = request.plain_body.size();
  if (request.expects_continue) request.head += "Expect: 100-continue\r\n";
  if (request.chunked) {
    request.head += "Transfer-Encoding: chunked\r\n";
    request.body = as_chunks(dice, request.plain_body);
  } else {
    request.head += "Content-Length: " + std::to_string(request.plain_body.size()) + "\r\n";
    request.body = request.plain_body;
  }
}

void GatewayRequests::compose(Dice& dice, GatewayRequest& request) const {
  request.corr_id = draw_corr_id(dice);
  request.to_head = request.method == "HEAD";
  request.heavy = request.group || request.object || request.is_missing;
  request.answer_bytes = plan_.largest_body;
  if (request.group) request.answer_takes = kLongestBody;
  if (request.garbage) {
    request.to_head = false;
    request.head = "GET  /a HTTP/1.1\r\n\r\n";
    request.what = "garbage";
    return;
  }
  if (request.group) {
    request.target = plan_.groups[*request.group].prefix + "/" + request.corr_id + "?q=1";
  } else if (request.object) {
    const std::string address = object_address(plan_.objects[*request.object]);
    request.target = request.has_body ? "/o" : "/o/" + address;
  } else if (request.is_missing) {
    request.target = "/nobody/has/this";
  } else {
    request.target = request.asks_ready ? "/readyz" : "/healthz";
  }
  // The second group is open to everyone; whoever asks for what is nobody's need show nothing.
  const bool shows_nothing =
      request.pass == Pass::None || request.pass == Pass::Expired || request.pass == Pass::Garbage;
  const bool is_open = request.group && *request.group == 1;
  if (shows_nothing && !is_open && (request.group || request.object)) {
    request.right = Right::Nobody;
    request.public_read = request.reads();
  }
  request.head = request.method + " " + request.target +
                 " HTTP/1.1\r\nHost: " + (request.foreign_host ? "elsewhere" : "gateway") +
                 "\r\nX-Corr-ID: " + request.corr_id + "\r\n";
  if (request.pass != Pass::None) {
    request.head += "Authorization: Bearer " + passes_.of(request.pass) + "\r\n";
  }
  request.head += request.asks_close ? "Connection: close, X-Hop\r\n" : "Connection: X-Hop\r\n";
  request.head += "X-Hop: 1\r\nX-Forwarded-For: 192.0.2.66\r\n";
  if (request.has_body) add_body(dice, request);
  request.head += "\r\n";
  request.what = request.method + " " + request.target + (request.chunked ? " chunked" : "") +
                 (request.expects_continue ? " expect" : "") +
                 " pass=" + std::to_string(static_cast<int>(request.pass));
}

}  // namespace ron::sim
