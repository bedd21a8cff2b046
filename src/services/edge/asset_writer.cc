#include "services/edge/asset_writer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "b3/hash.h"
#include "base/limits.h"

namespace ron::edge {
namespace {

using base::Buffer;
using base::Code;
using base::Result;
using platform::Task;
using volume::kPartBytes;

constexpr std::uint64_t kSmallBytes = base::limits::kDecodedBytes;
// How long the disk has for one write.
constexpr base::Duration kWriteTime = std::chrono::seconds(10);
// How long a large body waits until the disk has room for it.
constexpr base::Duration kRoomTime = std::chrono::seconds(2);
// An upload that nobody ends ends itself.
constexpr std::int64_t kUploadLastsS = 60 * 60;

Buffer copy_of(base::ByteView bytes) {
  Buffer copy(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

// What the volume says to a write.
template <class T>
Task<Result<T>> answer_of(Task<void> submitted, runtime::OneshotReceiver<Result<T>> receiver) {
  co_await submitted;
  auto answer = co_await receiver.recv(runtime::Deadline::in(kWriteTime));
  if (answer) co_return std::move(*answer);
  co_return base::fail(Code::StorageBusy, "the disk did not take the body in time");
}

template <class T, class Submit>
Task<Result<T>> ask(Submit submit) {
  auto [sender, receiver] = runtime::oneshot<Result<T>>();
  return answer_of<T>(submit(std::move(sender)), std::move(receiver));
}

}  // namespace

AssetWriter::AssetWriter(AssetStore& store, runtime::Semaphore::Permit place, std::string hold,
                         bool may_keep)
    : store_(store), hold_(std::move(hold)), request_allows_(may_keep) {
  change_.place = std::move(place);
}

AssetWriter::~AssetWriter() {
  const bool has_traces = !change_.leftovers.empty() || change_.upload;
  if (change_.place && has_traces) store_.submit(std::move(change_));
}

void AssetWriter::keep(AssetPtr asset, std::vector<AssetPtr> gone) {
  // What is held by another name, or is in memory only, left its bytes behind.
  std::erase_if(change_.leftovers, [&](const HeldBytes& held) {
    return held.address == asset->facts.address && held.hold == asset->facts.hold;
  });
  change_.kept = std::move(asset);
  change_.gone = std::move(gone);
  store_.submit(std::move(change_));
}

void AssetWriter::start_over() {
  buffer_ = {};
  length_ = 0;
  parts_ = 0;
  spooled_.clear();
  is_large_ = false;
}

Task<Result<>> AssetWriter::begin(const Fetched* head) {
  const std::uint64_t expected = head->length.value_or(0);
  if (change_.upload) {
    // A second try: the first one's upload ends by itself, or with us.
    auto aborted = co_await ask<bool>([this](volume::Reply<bool> reply) {
      return store_.volume().abort_upload(change_.upload->id, runtime::Deadline::in(kWriteTime),
                                          std::move(reply));
    });
    static_cast<void>(aborted);
    change_.upload.reset();
  }
  start_over();
  may_keep_ = request_allows_ &&
              may_be_kept(head->status, head->fields, {head->requested_ms, head->received_ms});
  if (expected <= kSmallBytes) {
    buffer_ = Buffer(expected);
    buffer_.resize(0);
    co_return Result<>();
  }
  if (!may_keep_) co_return base::fail(refuse());
  const Result<> room = co_await find_room();
  if (!room) co_return room;
  co_return co_await begin_upload(expected);
}

base::Error AssetWriter::refuse() {
  refused_ = true;
  return base::Error(Code::BodyCap,
                     "the answer may not be kept, and is larger than such answers may be")
      .with("max_bytes", std::to_string(kSmallBytes));
}

Task<Result<>> AssetWriter::begin_upload(std::uint64_t length) {
  is_large_ = true;
  platform::Random& random = store_.host().random;
  const auto now_ms = store_.host().clock.unix_ms();
  const volume::UploadId id(static_cast<std::uint64_t>(now_ms),
                            static_cast<std::uint16_t>(random.next()), random.next());
  volume::Upload upload{.id = id,
                        .length = length,
                        .expected = std::nullopt,
                        .tenant = hold_,
                        .expires_unix_s = now_ms / 1000 + kUploadLastsS};
  change_.upload = LeftUpload{id, hold_};
  auto begun = co_await ask<bool>([&](volume::Reply<bool> reply) {
    return store_.volume().begin_upload(std::move(upload), runtime::Deadline::in(kWriteTime),
                                        std::move(reply));
  });
  if (!begun) co_return base::fail(std::move(begun.error()));
  co_return Result<>();
}

void AssetWriter::append(base::ByteView piece) {
  const std::size_t wanted = buffer_.size() + piece.size();
  if (wanted > buffer_.capacity()) {
    Buffer larger(std::max(wanted, std::min<std::size_t>(2 * buffer_.capacity(), kSmallBytes)));
    if (buffer_.size() != 0) std::memcpy(larger.data(), buffer_.data(), buffer_.size());
    larger.resize(buffer_.size());
    buffer_ = std::move(larger);
  }
  const std::size_t at = buffer_.size();
  buffer_.resize(wanted);
  std::memcpy(buffer_.data() + at, piece.data(), piece.size());
  length_ += piece.size();
}

Task<Result<>> AssetWriter::write(base::ByteView piece) {
  while (!piece.empty()) {
    // A large body is in memory up to the part it is at; one that turns out to be large, up to that
    // moment, is cut into its first parts.
    const std::size_t room = (is_large_ ? kPartBytes : kSmallBytes) - buffer_.size();
    const base::ByteView fits = piece.first(std::min(room, piece.size()));
    append(fits);
    piece = piece.subspan(fits.size());
    const bool is_full = buffer_.size() == (is_large_ ? kPartBytes : kSmallBytes);
    if (!is_full || (!is_large_ && piece.empty())) continue;
    if (!may_keep_) co_return base::fail(refuse());
    is_large_ = true;
    const Buffer whole = std::exchange(buffer_, Buffer());
    for (std::size_t at = 0; at < whole.size(); at += kPartBytes) {
      Buffer part = copy_of(whole.view().subspan(at, kPartBytes));
      const Result<> passed = co_await pass_part_on(std::move(part));
      if (!passed) co_return passed;
    }
  }
  co_return Result<>();
}

Task<Result<>> AssetWriter::pass_part_on(Buffer part) {
  if (change_.upload) co_return co_await put_part(std::move(part));
  if (spooled_.empty()) {
    const Result<> room = co_await find_room();
    if (!room) co_return room;
  }
  const base::ObjectId address = b3::hash(part.view());
  spooled_.push_back(address);
  co_return co_await put(address, std::move(part));
}

Task<Result<>> AssetWriter::find_room() {
  const bool is_there = co_await store_.wait_for_room(runtime::Deadline::in(kRoomTime));
  if (is_there) co_return Result<>();
  co_return base::fail(Code::StorageBusy, "the cache on disk has no room for a large body yet");
}

Task<Result<>> AssetWriter::put_part(Buffer part) {
  volume::NewPart wanted{.upload = change_.upload->id, .part = parts_++, .bytes = std::move(part)};
  auto stored = co_await ask<b3::ChainingValue>([&](volume::Reply<b3::ChainingValue> reply) {
    return store_.volume().put_part(std::move(wanted), runtime::Deadline::in(kWriteTime),
                                    std::move(reply));
  });
  if (!stored) co_return base::fail(std::move(stored.error()));
  co_return Result<>();
}

// Whatever becomes of the write, the janitor knows what there may be.
Task<Result<>> AssetWriter::put(base::ObjectId address, Buffer bytes) {
  change_.leftovers.push_back({address, hold_});
  volume::NewObject object{.id = address, .bytes = std::move(bytes), .tenant = hold_, .groups = {}};
  auto added = co_await ask<volume::Added>([&](volume::Reply<volume::Added> reply) {
    return store_.volume().put(std::move(object), runtime::Deadline::in(kWriteTime),
                               std::move(reply));
  });
  if (!added) co_return base::fail(std::move(added.error()));
  co_return Result<>();
}

// From objects of their own to parts of an upload, one after the other.
Task<Result<>> AssetWriter::move_spooled() {
  Result<> done = co_await begin_upload(length_);
  if (!done) co_return done;
  for (const base::ObjectId& address : spooled_) {
    auto part = co_await store_.load(address);
    if (!part) co_return base::fail(std::move(part.error()));
    done = co_await put_part(std::move(*part));
    if (!done) co_return done;
  }
  co_return done;
}

Task<Result<AssetWriter::Body>> AssetWriter::finish_small(bool wanted) {
  Body body;
  body.address = b3::hash(buffer_.view());
  body.length = length_;
  if (wanted && store_.has_room()) {
    const Result<> stored = co_await put(body.address, copy_of(buffer_.view()));
    body.is_stored = stored.has_value();
  }
  body.bytes = std::move(buffer_);
  co_return body;
}

Task<Result<AssetWriter::Body>> AssetWriter::finish(bool wanted) {
  if (!is_large_) co_return co_await finish_small(wanted);
  Result<> done;
  if (!spooled_.empty()) done = co_await move_spooled();
  if (!done) co_return base::fail(std::move(done.error()));
  if (buffer_.size() != 0) done = co_await put_part(std::exchange(buffer_, Buffer()));
  if (!done) co_return base::fail(std::move(done.error()));
  const volume::UploadId upload = change_.upload->id;
  auto added = co_await ask<volume::Added>([&](volume::Reply<volume::Added> reply) {
    return store_.volume().commit_upload(upload, runtime::Deadline::in(kWriteTime),
                                         std::move(reply));
  });
  if (!added) co_return base::fail(std::move(added.error()));
  change_.upload.reset();
  change_.leftovers.push_back({added->id, hold_});
  co_return Body{added->id, added->length, {}, true};
}

}  // namespace ron::edge
