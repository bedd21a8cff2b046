#include "services/edge/http_origin.h"

#include <algorithm>
#include <utility>

#include "b3/hash.h"
#include "base/limits.h"
#include "runtime/waiting.h"

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
// Hashing more than this would keep a core from its other work for too long.
constexpr std::size_t kHashedInline = 256 * base::kKiB;

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
  WholeSource(Whole whole, Range range) noexcept : whole_(std::move(whole)), left_(range) {}

  Task<Result<base::ByteView>> next() override {
    const Range all = std::exchange(left_, {});
    co_return whole_.bytes.view().subspan(all.offset, all.length);
  }

 private:
  const Whole whole_;
  Range left_;
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

Task<Result<ObjectStream>> HttpOrigin::open(base::ObjectId address, std::optional<Range> range,
                                            Deadline deadline) {
  auto whole = co_await fetch(address, deadline);
  if (!whole) co_return fail(std::move(whole.error()));
  ObjectStream stream;
  stream.object_length = whole->bytes.size();
  const Result<Range> wanted = cut(range, stream.object_length);
  if (!wanted) co_return fail(wanted.error());
  stream.range = *wanted;
  stream.body = std::make_unique<WholeSource>(std::move(*whole), *wanted);
  co_return stream;
}

Task<Result<HttpOrigin::Whole>> HttpOrigin::fetch(base::ObjectId address, Deadline deadline) {
  const std::string target = "/o/" + address.text();
  std::vector<http::Field> fields = {{"Accept-Encoding", "identity"}};
  if (!authorization_.empty()) fields.push_back({"Authorization", authorization_});
  http::ClientRequest request{.target = target, .host = address_.authority(), .fields = fields};
  address_.aim(request);
  auto response = co_await here().send(request, deadline);
  if (!response) co_return fail(std::move(response.error()));
  if (response->status() != 200) co_return fail(refusal(response->status()));
  const std::optional<std::uint64_t> length = response->head().content_length;
  if (!length) co_return fail(Code::UpstreamFail, "the origin does not say how long an object is");
  const std::uint64_t most = settings_.get()->fill.max_object_bytes.bytes;
  if (*length > most) {
    co_return fail(
        base::Error(Code::BodyCap, "the object is larger than edge.fill.max_object_bytes")
            .with("length", std::to_string(*length))
            .with("limit", std::to_string(most)));
  }
  Whole whole;
  if (*length > base::limits::kDecodedBytes) {
    whole.place = co_await large_.acquire(deadline);
    if (!whole.place) co_return fail(Code::Busy, "too many large objects are on their way");
  }
  auto bytes = co_await response->read_all(*length);
  if (!bytes) co_return fail(std::move(bytes.error()));
  whole.bytes = std::move(*bytes);
  base::ObjectId found;
  if (whole.bytes.size() <= kHashedInline) {
    found = b3::hash(whole.bytes.view());
  } else {
    // Shared with the pool, which may still be at it when nobody waits for it any more.
    auto shared = std::make_shared<base::Buffer>(std::move(whole.bytes));
    const auto hashed = co_await blocking_.run([shared] { return b3::hash(shared->view()); });
    if (!hashed) co_return fail(hashed.error());
    found = *hashed;
    whole.bytes = std::move(*shared);
  }
  if (found == address) co_return whole;
  co_return fail(Code::IntegrityFail, "the origin's bytes do not match their address");
}

Task<void> HttpOrigin::dial(std::size_t core, runtime::Shutdown shutdown) {
  co_await runtime::wait_stop(std::move(shutdown));
  co_await loops_[core]->client.close(Deadline::in(kLastWords));
}

}  // namespace ron::edge
