#include "sim/request.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "auth/capability.h"
#include "base/ulid.h"

namespace ron::sim {
namespace {

std::string mint(Dice& dice, const auth::Keyring& keyring, std::vector<auth::Caveat> caveats,
                 std::int64_t now_unix_s) {
  std::array<std::byte, auth::kNonceBytes> nonce{};
  for (std::byte& byte : nonce) byte = static_cast<std::byte>(dice.below(256));
  return auth::mint_token(keyring, caveats, nonce, now_unix_s).value().text();
}

auth::ScopeCaveat only(auth::Scope scope) {
  auth::ScopeSet scopes;
  scopes.add(scope);
  return {scopes};
}

std::string_view method(const Request& request) {
  switch (request.kind) {
    case Kind::Put:
    case Kind::PutWrong:
      return "PUT";
    case Kind::Post:
      return "POST";
    case Kind::Delete:
      return "DELETE";
    case Kind::Head:
      return "HEAD";
    default:
      return "GET";
  }
}

// Cuts the body into chunks of any size.
std::string as_chunks(Dice& dice, std::string_view body) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  while (!body.empty()) {
    const std::size_t size = dice.between(1, std::min<std::size_t>(body.size(), 9000));
    std::string digits;
    for (std::size_t left = size; left > 0; left /= 16) digits.insert(0, 1, kHex[left % 16]);
    out += digits;
    out += "\r\n";
    out += body.substr(0, size);
    out += "\r\n";
    body.remove_prefix(size);
  }
  return out + "0\r\n\r\n";
}

TokenKind any_token(Dice& dice) {
  using enum TokenKind;
  if (dice.chance(70)) return Admin;
  if (dice.chance(67)) return Tenant;
  return dice.pick({None, Write, Delete, Small, Expired, Garbage});
}

// Mostly what people do; the weights are how often a kind is named.
Kind any_kind(Dice& dice) {
  using enum Kind;
  if (dice.chance(6)) return dice.pick({Health, Ready, Missing, BadAddress, Garbage});
  if (dice.chance(45)) return dice.pick({Put, Put, Put, Put, Put, Post, Post, PutWrong, Delete});
  return dice.pick({Get, Get, Get, Get, Get, Get, Head, Range, Range, IfNoneMatch, IfMatch});
}

}  // namespace

Tokens make_tokens(Dice dice, std::int64_t now_unix_s) {
  std::array<std::byte, auth::Secret::kBytes> secret{};
  for (std::byte& byte : secret) byte = static_cast<std::byte>(dice.below(256));
  auth::RootKey key = auth::make_root_key(secret, now_unix_s).value();
  Tokens tokens;
  tokens.keyring =
      std::make_shared<const auth::Keyring>(auth::Keyring::make(std::move(key), {}, {}).value());
  const auto add = [&](std::vector<auth::Caveat> caveats) {
    tokens.texts.push_back(mint(dice, *tokens.keyring, std::move(caveats), now_unix_s));
  };
  tokens.texts.emplace_back();  // None
  add({});
  add({only(auth::Scope::kStorageWrite)});
  add({only(auth::Scope::kStorageDelete)});
  add({auth::MaxBytesCaveat{kSmallTokenBytes}});
  add({auth::ExpiresCaveat{now_unix_s - 1}});
  tokens.texts.push_back("bm90LWEtdG9rZW4");
  auth::ScopeCaveat stores_and_deletes = only(auth::Scope::kStorageWrite);
  stores_and_deletes.scopes.add(auth::Scope::kStorageDelete);
  add({stores_and_deletes, auth::TenantCaveat{"tenant"}});
  return tokens;
}

std::string_view name(Kind kind) noexcept {
  constexpr std::array<std::string_view, 14> kNames = {
      "put",      "put-wrong", "post",   "get",   "head",    "range",       "if-none-match",
      "if-match", "delete",    "health", "ready", "missing", "bad-address", "garbage"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string Request::text() const {
  std::string out(name(kind));
  if (stores() || reads() || kind == Kind::Delete) out += " #" + std::to_string(object);
  if (chunked) out += " chunked";
  if (gzip) out += " gzip";
  if (expects_continue) out += " expect";
  if (heavy() && token != TokenKind::Admin) {
    out += " token=" + std::to_string(static_cast<int>(token));
  }
  return out;
}

Request RequestMaker::any(Dice& dice, bool alone) const {
  Request request;
  request.kind = any_kind(dice);
  request.object = dice.below(payloads_.size() - 1);
  request.token = any_token(dice);
  request.chunked = dice.chance(20);
  request.gzip = dice.chance(15);
  request.expects_continue = alone && dice.chance(10);
  request.asks_close = alone && dice.chance(5);
  compose(dice, request);
  return request;
}

Request RequestMaker::plain(Dice& dice, Kind kind, std::size_t object) const {
  Request request;
  request.kind = kind;
  request.object = object;
  request.token = TokenKind::Admin;
  compose(dice, request);
  return request;
}

void RequestMaker::add_body(Dice& dice, Request& request) const {
  const Payload& payload = payloads_[request.object];
  const std::string& bytes = request.gzip ? payload.gzip : payload.bytes;
  request.encoded_bytes = bytes.size();
  request.decoded_bytes = payload.bytes.size();
  if (request.gzip) request.head += "Content-Encoding: gzip\r\n";
  if (request.expects_continue) request.head += "Expect: 100-continue\r\n";
  if (request.chunked) {
    request.head += "Transfer-Encoding: chunked\r\n";
    request.body = as_chunks(dice, bytes);
  } else {
    request.head += "Content-Length: " + std::to_string(bytes.size()) + "\r\n";
    request.body = bytes;
  }
}

std::string RequestMaker::range_line(Dice& dice, Request& request) const {
  using Wanted = RangeWanted::Kind;
  const std::uint64_t size = payloads_[request.object].bytes.size();
  const std::uint64_t first = dice.below(size + 1);
  const std::uint64_t last = dice.between(first, size + 5);
  const auto bytes = [](std::uint64_t from, std::uint64_t to) {
    return std::to_string(from) + "-" + std::to_string(to);
  };
  const auto part = [&](std::uint64_t from, std::uint64_t to) {
    request.range = from >= size ? RangeWanted{Wanted::Outside}
                                 : RangeWanted{Wanted::Part, from, std::min(to, size - 1)};
  };
  std::string text;
  switch (dice.below(6)) {
    case 0:
      part(first, size);
      text = std::to_string(first) + "-";
      break;
    case 1: {
      const std::uint64_t suffix = dice.between(1, size + 5);
      if (size > 0) part(size - std::min(suffix, size), size);
      text = "-" + std::to_string(suffix);
      break;
    }
    case 2:
      request.range = {Wanted::Outside};
      text = bytes(size, size + 10);
      break;
    case 3:
      request.range = {Wanted::Bad};
      text = bytes(last + 1, first);
      break;
    case 4:  // several: the whole object, unless one of them is bad
      text = bytes(0, 1) + "," + bytes(first, last);
      break;
    default:
      part(first, last);
      text = bytes(first, last);
  }
  return "Range: bytes=" + text + "\r\n";
}

void RequestMaker::compose(Dice& dice, Request& request) const {
  const Payload& payload = payloads_[request.object];
  const std::string& other = payloads_[(request.object + 1) % payloads_.size()].address;
  if (!request.stores()) request.chunked = request.gzip = request.expects_continue = false;
  const std::uint64_t high = dice.next();
  request.corr_id = base::Ulid(high >> 20, static_cast<std::uint16_t>(high), dice.next()).text();
  if (request.kind == Kind::Garbage) {
    request.head = dice.chance(50) ? "\x16\x03\x01 hello\r\n\r\n" : "GET  /o HTTP/1.1\r\n\r\n";
    return;
  }
  std::string path = "/o/" + payload.address;
  if (request.kind == Kind::Post) path = "/o";
  if (request.kind == Kind::PutWrong) path = "/o/" + other;
  if (request.kind == Kind::Health) path = "/healthz";
  if (request.kind == Kind::Ready) path = "/readyz";
  if (request.kind == Kind::Missing) path = "/nothing/here";
  if (request.kind == Kind::BadAddress) path = "/o/b3:123";
  request.head = std::string(method(request)) + " " + path + " HTTP/1.1\r\nHost: storage\r\n";
  request.head += "X-Corr-ID: " + request.corr_id + "\r\n";
  if (request.token != TokenKind::None) {
    request.head += "Authorization: Bearer " + tokens_.of(request.token) + "\r\n";
  }
  if (request.asks_close) request.head += "Connection: close\r\n";
  if (request.kind == Kind::Range) request.head += range_line(dice, request);
  if (request.kind == Kind::IfNoneMatch) {
    request.head += "If-None-Match: \"" + payload.address + "\"\r\n";
  }
  if (request.kind == Kind::IfMatch) request.head += "If-Match: \"" + other + "\"\r\n";
  if (request.stores()) add_body(dice, request);
  request.head += "\r\n";
}

}  // namespace ron::sim
