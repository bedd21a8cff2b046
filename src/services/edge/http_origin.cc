#include "services/edge/http_origin.h"

#include <algorithm>
#include <utility>

#include "b3/geometry.h"
#include "b3/hash.h"
#include "base/limits.h"
#include "runtime/waiting.h"
#include "services/edge/wires.h"

namespace ron::edge {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using runtime::Deadline;
using storage_api::ObjectStream;
using storage_api::Range;

// For connections to be closed in peace.
constexpr base::Duration kLastWords = std::chrono::milliseconds(100);
// What the origin has for one piece. A download may last longer than the request's deadline.
constexpr base::Duration kPieceTime = std::chrono::seconds(10);
constexpr platform::BlockingKind kHashObject{"hash_object", std::chrono::seconds(10)};
constexpr std::size_t kPieceBytes = ObjectVerifier::kPieceBytes;

Result<Range> cut(const std::optional<Range>& asked, std::uint64_t length) {
  if (!asked) return Range{0, length};
  if (asked->offset >= length || asked->length == 0) {
    return fail(Code::RangeNotSatisfiable, "the range lies outside the object");
  }
  return Range{asked->offset, std::min(asked->length, length - asked->offset)};
}

base::Error refusal(int status) {
  if (status == 404) return {Code::NotFound, "the origin does not have the object"};
  return {Code::UpstreamFail, "the origin answered " + std::to_string(status)};
}

}  // namespace

// What was fetched and verified, in one piece.
class HttpOrigin::WholeSource final : public http::BodySource {
 public:
  WholeSource(base::Buffer bytes, Range range) noexcept : bytes_(std::move(bytes)), left_(range) {}

  Task<Result<base::ByteView>> next() override {
    const Range all = std::exchange(left_, {});
    co_return bytes_.view().subspan(all.offset, all.length);
  }

 private:
  const base::Buffer bytes_;
  Range left_;
};

// Of a large one: each piece is read when the one before has been sent. The first is there.
class HttpOrigin::PieceSource final : public http::BodySource {
 public:
  PieceSource(HttpOrigin& origin, base::ObjectId address, VerifiedPtr object, Range range,
              base::Buffer first)
      : origin_(origin),
        address_(address),
        object_(std::move(object)),
        left_(range),
        piece_(std::move(first)) {}

  // Whole groups, from the one of the range's first byte to that of its last, or a multiple of a
  // piece.
  static Range around(Range range, std::uint64_t object_length) noexcept {
    const std::uint64_t begin = range.offset - range.offset % b3::kGroupBytes;
    const std::uint64_t last = (range.offset + range.length - 1) / b3::kGroupBytes;
    const std::uint64_t end = std::min(
        {begin - begin % kPieceBytes + kPieceBytes, (last + 1) * b3::kGroupBytes, object_length});
    return {begin, end - begin};
  }

  Task<Result<base::ByteView>> next() override {
    if (left_.length == 0) co_return base::ByteView();
    const Range piece = around(left_, object_->length);
    if (!std::exchange(is_first_, false)) {
      auto bytes = co_await origin_.read_piece(address_, object_, piece, Deadline::in(kPieceTime));
      if (!bytes) co_return fail(std::move(bytes.error()));
      piece_ = std::move(*bytes);
    }
    const std::uint64_t skipped = left_.offset - piece.offset;
    const std::uint64_t taken = std::min(left_.length, piece.length - skipped);
    left_ = {left_.offset + taken, left_.length - taken};
    co_return piece_.view().subspan(skipped, taken);
  }

 private:
  HttpOrigin& origin_;
  const base::ObjectId address_;
  const VerifiedPtr object_;
  Range left_;
  base::Buffer piece_;
  bool is_first_ = true;
};

HttpOrigin::Loop::Loop(platform::Executor& executor, const HttpOriginParts& parts)
    : home(executor),
      client(parts.host.net,
             {.tls = parts.trust, .clock = &parts.host.clock, .resolver = &parts.host.resolver},
             *parts.meters) {}

HttpOrigin::HttpOrigin(HttpOriginParts parts)
    : address_(parts.address),
      authorization_(parts.token.empty() ? "" : "Bearer " + parts.token),
      settings_(*parts.settings),
      blocking_(parts.host.blocking),
      known_(kMemoryLock, kKnownBytes),
      index_({.host = parts.host,
              .address = parts.address,
              .token = parts.token,
              .trust = parts.trust,
              .meters = parts.meters}) {
  for (platform::Executor* const core : parts.host.cores) {
    loops_.push_back(std::make_unique<Loop>(*core, parts));
  }
}

Task<Result<index_api::NamedTarget>> HttpOrigin::look_up(catalog::NameRef name, Deadline deadline) {
  return index_.look_up(std::move(name), deadline);
}

http::Client& HttpOrigin::here() {
  const platform::Executor* const core = platform::Executor::current();
  const auto found = std::ranges::find_if(
      loops_, [core](const std::unique_ptr<Loop>& loop) { return &loop->home == core; });
  return (*found)->client;
}

Task<Result<std::uint64_t>> HttpOrigin::stat(base::ObjectId address, Deadline deadline) {
  const auto response = co_await ask(http::Method::Head, address, std::nullopt, deadline);
  if (!response) co_return fail(response.error());
  co_return response->head().content_length.value_or(0);
}

Task<Result<ObjectStream>> HttpOrigin::open(base::ObjectId address, std::optional<Range> range,
                                            Deadline deadline) {
  VerifiedPtr known = known_.find(address);
  if (known) co_return co_await open_pieces(address, std::move(known), range, deadline);
  auto response = co_await ask(http::Method::Get, address, std::nullopt, deadline);
  if (!response) co_return fail(std::move(response.error()));
  const Result<std::uint64_t> length = length_of(*response);
  if (!length) co_return fail(length.error());
  if (*length > base::limits::kDecodedBytes) {
    auto object = co_await verify(address, std::move(*response), deadline);
    if (!object) co_return fail(std::move(object.error()));
    co_return co_await open_pieces(address, std::move(*object), range, deadline);
  }
  auto bytes = co_await read_small(address, std::move(*response));
  if (!bytes) co_return fail(std::move(bytes.error()));
  const Result<Range> wanted = cut(range, *length);
  if (!wanted) co_return fail(wanted.error());
  ObjectStream stream;
  stream.object_length = *length;
  stream.range = *wanted;
  stream.body = std::make_unique<WholeSource>(std::move(*bytes), *wanted);
  co_return stream;
}

// The first piece is read before the head is sent, so that what is wrong with it can still be said.
Task<Result<ObjectStream>> HttpOrigin::open_pieces(base::ObjectId address, VerifiedPtr object,
                                                   std::optional<Range> range, Deadline deadline) {
  const Result<Range> wanted = cut(range, object->length);
  if (!wanted) co_return fail(wanted.error());
  auto first =
      co_await read_piece(address, object, PieceSource::around(*wanted, object->length), deadline);
  if (!first) co_return fail(std::move(first.error()));
  ObjectStream stream;
  stream.object_length = object->length;
  stream.range = *wanted;
  stream.body =
      std::make_unique<PieceSource>(*this, address, std::move(object), *wanted, std::move(*first));
  co_return stream;
}

Task<Result<http::ClientResponse>> HttpOrigin::ask(http::Method method, base::ObjectId address,
                                                   std::optional<Range> range, Deadline deadline) {
  const std::string target = "/o/" + address.text();
  std::vector<http::Field> fields = {{"Accept-Encoding", "identity"}};
  if (!authorization_.empty()) fields.push_back({"Authorization", authorization_});
  std::string bytes;
  if (range) {
    bytes = "bytes=" + std::to_string(range->offset) + "-" +
            std::to_string(range->offset + range->length - 1);
    fields.push_back({"Range", bytes});
  }
  http::ClientRequest request{.target = target, .host = address_.authority(), .fields = fields};
  request.method = method;
  address_.aim(request);
  auto response = co_await here().send(request, deadline);
  if (!response) co_return fail(std::move(response.error()));
  if (response->status() != (range ? 206 : 200)) co_return fail(refusal(response->status()));
  co_return response;
}

Result<std::uint64_t> HttpOrigin::length_of(const http::ClientResponse& response) const {
  const std::optional<std::uint64_t> length = response.head().content_length;
  if (!length) return fail(Code::UpstreamFail, "the origin does not say how long an object is");
  const std::uint64_t most = settings_.get()->fill.max_object_bytes.bytes;
  if (*length <= most) return *length;
  return fail(base::Error(Code::BodyCap, "the object is larger than edge.fill.max_object_bytes")
                  .with("length", std::to_string(*length))
                  .with("limit", std::to_string(most)));
}

Task<Result<base::Buffer>> HttpOrigin::read_small(base::ObjectId address,
                                                  http::ClientResponse response) {
  auto bytes = co_await response.read_all(base::limits::kDecodedBytes);
  if (!bytes) co_return fail(std::move(bytes.error()));
  base::ObjectId found;
  if (bytes->size() <= kPieceBytes) {
    found = b3::hash(bytes->view());
  } else {
    // Shared with the pool, which may still be at it when nobody waits for it any more.
    auto shared = std::make_shared<base::Buffer>(std::move(*bytes));
    const auto hashed =
        co_await blocking_.run(kHashObject, [shared] { return b3::hash(shared->view()); });
    if (!hashed) co_return fail(hashed.error());
    found = *hashed;
    *bytes = std::move(*shared);
  }
  if (found == address) co_return bytes;
  co_return fail(Code::IntegrityFail, "the origin's bytes do not match their address");
}

Task<Result<VerifiedPtr>> HttpOrigin::verify(base::ObjectId address, http::ClientResponse response,
                                             Deadline deadline) {
  std::optional<http::ClientResponse> answer(std::move(response));
  runtime::Semaphore::Permit place = verifying_.try_acquire();
  if (!place) {
    answer.reset();
    place = co_await verifying_.acquire(deadline);
    if (!place) co_return fail(Code::Busy, "too many large objects are on their way");
    // Perhaps by the one who was waited for.
    VerifiedPtr known = known_.find(address);
    if (known) co_return known;
    auto again = co_await ask(http::Method::Get, address, std::nullopt, deadline);
    if (!again) co_return fail(std::move(again.error()));
    answer.emplace(std::move(*again));
  }
  const Result<std::uint64_t> length = length_of(*answer);
  if (!length) co_return fail(length.error());
  if (*length <= base::limits::kDecodedBytes) {
    co_return fail(Code::IntegrityFail, "the origin says two lengths of an object");
  }
  const Known::Ticket ticket = known_.ticket(address);
  ObjectVerifier verifier(*length);
  for (;;) {
    const auto bytes = co_await answer->next();
    if (!bytes) co_return fail(bytes.error());
    if (bytes->empty()) break;
    const Result<> appended = verifier.append(*bytes);
    if (!appended) co_return fail(appended.error());
    platform::Executor::current()->spend(bytes->size());
    if (runtime::turn_is_over()) co_await platform::Yield();
  }
  auto verified = verifier.finish(address);
  if (verified) known_.insert(address, *verified, ticket);
  co_return verified;
}

Task<Result<base::Buffer>> HttpOrigin::read_piece(base::ObjectId address, VerifiedPtr object,
                                                  Range piece, Deadline deadline) {
  auto response = co_await ask(http::Method::Get, address, piece, deadline);
  if (!response) co_return fail(std::move(response.error()));
  auto bytes = co_await response->read_all(piece.length);
  if (!bytes) co_return fail(std::move(bytes.error()));
  if (bytes->size() == piece.length && object->has(piece.offset, bytes->view())) co_return bytes;
  co_return fail(Code::IntegrityFail, "the origin's bytes are not what they were");
}

Task<void> HttpOrigin::dial(std::size_t core, runtime::Shutdown shutdown) {
  co_await runtime::wait_stop(std::move(shutdown));
  co_await loops_[core]->client.close(Deadline::in(kLastWords));
}

}  // namespace ron::edge
