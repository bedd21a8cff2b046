#include "sim/storage/request.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "auth/capability.h"
#include "sim/harness/tokens.h"

namespace ron::sim {
namespace {

std::string_view method(Kind kind) {
  switch (kind) {
    case Kind::Put:
    case Kind::PutWrong:
    case Kind::PutPart:
      return "PUT";
    case Kind::Post:
    case Kind::BeginUpload:
    case Kind::CommitUpload:
      return "POST";
    case Kind::Delete:
    case Kind::AbortUpload:
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

// What the token is worth to this request.
Right right_of(const ObjectRequest& request) {
  using enum TokenKind;
  if (!request.heavy) return Right::Enough;
  if (request.token == None || request.token == Expired || request.token == Garbage) {
    return Right::Nobody;
  }
  const bool deletes = request.kind == Kind::Delete || request.kind == Kind::AbortUpload;
  if (deletes) return request.token == Write ? Right::TooLittle : Right::Enough;
  if (!request.has_body) return Right::Enough;
  if (request.token == Delete) return Right::TooLittle;
  const bool over = request.decoded_bytes > kSmallTokenBytes ||
                    (!request.chunked && request.encoded_bytes > kSmallTokenBytes);
  return request.token == Small && over ? Right::TooLittle : Right::Enough;
}

std::string describe(const ObjectRequest& request) {
  std::string out(name(request.kind));
  const bool names_object = request.stores() || request.reads() || request.kind == Kind::Delete ||
                            request.is_about_upload();
  if (names_object) out += " #" + std::to_string(request.object);
  if (request.is_about_upload()) out += " " + request.upload->id;
  if (request.kind == Kind::PutPart) out += "/" + std::to_string(request.part);
  if (request.chunked) out += " chunked";
  if (request.gzip) out += " gzip";
  if (request.expects_continue) out += " expect";
  if (request.heavy && request.token != TokenKind::Admin) {
    out += " token=" + std::to_string(static_cast<int>(request.token));
  }
  return out;
}

}  // namespace

Tokens make_tokens(Dice dice, std::int64_t now_unix_s) {
  Tokens tokens;
  tokens.keyring = make_keyring(dice, now_unix_s);
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
  constexpr std::array<std::string_view, 19> kNames = {
      "put",      "put-wrong",     "post",          "get",          "head",
      "range",    "if-none-match", "if-match",      "delete",       "begin-upload",
      "put-part", "show-upload",   "commit-upload", "abort-upload", "health",
      "ready",    "missing",       "bad-address",   "garbage"};
  return kNames[static_cast<std::size_t>(kind)];
}

RequestPtr RequestMaker::any(Dice& dice, bool alone) const {
  auto request = std::make_unique<ObjectRequest>();
  request->kind = any_kind(dice);
  request->object = dice.below(payloads_.size() - 1);
  request->token = any_token(dice);
  request->chunked = dice.chance(20);
  request->gzip = dice.chance(15);
  request->expects_continue = alone && dice.chance(10);
  request->asks_close = alone && dice.chance(5);
  compose(dice, *request);
  return request;
}

RequestPtr RequestMaker::plain(Dice& dice, Kind kind, std::size_t object) const {
  auto request = std::make_unique<ObjectRequest>();
  request->kind = kind;
  request->object = object;
  request->token = TokenKind::Admin;
  compose(dice, *request);
  return request;
}

RequestPtr RequestMaker::step(Dice& dice, Kind kind, std::shared_ptr<UploadModel> upload,
                              std::uint64_t part) const {
  auto request = std::make_unique<ObjectRequest>();
  request->kind = kind;
  request->object = upload->object;
  request->token = upload->tenants ? TokenKind::Tenant : TokenKind::Admin;
  request->upload = std::move(upload);
  request->part = part;
  request->chunked = kind == Kind::PutPart && dice.chance(10);
  request->expects_continue = kind == Kind::PutPart && dice.chance(10);
  compose(dice, *request);
  return request;
}

void RequestMaker::add_body(Dice& dice, ObjectRequest& request, const std::string& bytes) const {
  request.has_body = true;
  request.encoded_bytes = bytes.size();
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

void RequestMaker::add_object(Dice& dice, ObjectRequest& request) const {
  const Payload& payload = payloads_[request.object];
  add_body(dice, request, request.gzip ? payload.gzip : payload.bytes);
  request.decoded_bytes = payload.bytes.size();
}

// What the steps of an upload send.
std::string RequestMaker::upload_body(const ObjectRequest& request) const {
  const Payload& payload = payloads_[request.object];
  const UploadModel& upload = *request.upload;
  if (request.kind == Kind::PutPart) {
    return payload.bytes.substr(request.part * base::limits::kPartBytes,
                                upload.part_length(request.part));
  }
  const std::string address =
      upload.names_address ? R"(,"address":")" + payload.address + "\"" : std::string();
  return R"({"length":)" + std::to_string(upload.length) + address + "}";
}

std::string RequestMaker::range_line(Dice& dice, ObjectRequest& request) const {
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

std::string RequestMaker::path_of(const ObjectRequest& request) const {
  switch (request.kind) {
    case Kind::Post:
      return "/o";
    case Kind::PutWrong:
      return "/o/" + payloads_[(request.object + 1) % payloads_.size()].address;
    case Kind::BeginUpload:
      return "/uploads";
    case Kind::PutPart:
      return "/uploads/" + request.upload->id + "/" + std::to_string(request.part);
    case Kind::ShowUpload:
    case Kind::AbortUpload:
      return "/uploads/" + request.upload->id;
    case Kind::CommitUpload:
      return "/uploads/" + request.upload->id + "/commit";
    case Kind::Health:
      return "/healthz";
    case Kind::Ready:
      return "/readyz";
    case Kind::Missing:
      return "/nothing/here";
    case Kind::BadAddress:
      return "/o/b3:123";
    default:
      return "/o/" + payloads_[request.object].address;
  }
}

void RequestMaker::compose(Dice& dice, ObjectRequest& request) const {
  const Payload& payload = payloads_[request.object];
  const std::string& other = payloads_[(request.object + 1) % payloads_.size()].address;
  const bool sends_part = request.kind == Kind::PutPart;
  if (!request.stores() && !sends_part) request.chunked = request.expects_continue = false;
  if (!request.stores()) request.gzip = false;
  request.corr_id = draw_corr_id(dice);
  request.garbage = request.kind == Kind::Garbage;
  request.to_head = request.kind == Kind::Head;
  request.asks_ready = request.kind == Kind::Ready;
  request.public_read = request.reads() || request.kind == Kind::BadAddress;
  request.heavy = request.public_read || request.stores() || request.kind == Kind::Delete ||
                  request.is_about_upload();
  if (request.reads()) request.answer_bytes = payload.bytes.size();
  if (request.garbage) {
    request.head = dice.chance(50) ? "\x16\x03\x01 hello\r\n\r\n" : "GET  /o HTTP/1.1\r\n\r\n";
    request.what = describe(request);
    return;
  }
  request.head = std::string(method(request.kind)) + " " + path_of(request) +
                 " HTTP/1.1\r\nHost: storage\r\nX-Corr-ID: " + request.corr_id + "\r\n";
  if (request.token != TokenKind::None) {
    request.head += "Authorization: Bearer " + tokens_.of(request.token) + "\r\n";
  }
  if (request.asks_close) request.head += "Connection: close\r\n";
  if (request.kind == Kind::Range) request.head += range_line(dice, request);
  if (request.kind == Kind::IfNoneMatch) {
    request.head += "If-None-Match: \"" + payload.address + "\"\r\n";
  }
  if (request.kind == Kind::IfMatch) request.head += "If-Match: \"" + other + "\"\r\n";
  if (request.stores()) add_object(dice, request);
  if (sends_part || request.kind == Kind::BeginUpload) {
    add_body(dice, request, upload_body(request));
    request.decoded_bytes = request.encoded_bytes;
  }
  request.head += "\r\n";
  request.right = right_of(request);
  request.what = describe(request);
}

}  // namespace ron::sim
