#include "services/storage/local_api.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "services/storage/object_source.h"
#include "services/storage/upload_request.h"

namespace ron::storage {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using storage_api::Change;
using storage_api::ObjectInfo;
using storage_api::ObjectStream;
using storage_api::Range;
using storage_api::UploadInfo;

// Bytes of an object in memory, in one piece.
class MemorySource final : public http::BodySource {
 public:
  MemorySource(ObjectPtr object, Range range) noexcept : object_(std::move(object)), left_(range) {}

  Task<Result<base::ByteView>> next() override {
    const Range all = std::exchange(left_, {});
    co_return object_ ? object_->bytes().subspan(all.offset, all.length) : base::ByteView();
  }

 private:
  const ObjectPtr object_;  // null: there are no bytes
  Range left_;
};

// What of an object of `length` was asked for.
Result<Range> cut(const std::optional<Range>& asked, std::uint64_t length) {
  if (!asked) return Range{0, length};
  if (asked->offset >= length || asked->length == 0) {
    return fail(base::Error(Code::RangeNotSatisfiable, "the range lies outside the object")
                    .with("length", std::to_string(length)));
  }
  return Range{asked->offset, std::min(asked->length, length - asked->offset)};
}

Origin origin_of(const storage_api::Call& call) { return {call.corr_id, call.tenant, call.token}; }

Result<storage_api::Stored> told(const Result<Stored>& stored) {
  if (!stored) return fail(stored.error());
  return storage_api::Stored{{stored->id, stored->length}, stored->is_new};
}

UploadInfo told(const volume::Upload& upload) {
  return {upload.id, upload.length, upload.expires_unix_s};
}

class EventChanges final : public storage_api::Changes {
 public:
  explicit EventChanges(runtime::Broadcast<StorageEvent>& events) : events_(events.subscribe()) {}

  Task<Result<Change>> next(runtime::Deadline deadline) override {
    for (;;) {
      auto received = co_await events_.recv(deadline);
      if (!received) {
        const bool late = received.error() == runtime::Waited::TimedOut;
        co_return late ? fail(Code::Timeout, "nothing has changed")
                       : fail(Code::Draining, "the server is shutting down");
      }
      const auto* event = std::get_if<StorageEvent>(&*received);
      if (event == nullptr) co_return Change{};
      const ObjectInfo object{event->id, event->length};
      if (event->kind == StorageEvent::Kind::Stored) co_return Change{Change::Kind::Stored, object};
      if (event->kind == StorageEvent::Kind::Removed) {
        co_return Change{Change::Kind::Removed, object};
      }
    }
  }

 private:
  runtime::Broadcast<StorageEvent>::Subscription events_;
};

}  // namespace

Task<Result<ObjectInfo>> LocalApi::stat(base::ObjectId id, runtime::Deadline deadline) {
  const ObjectPtr cached = core_.cached(id);
  if (cached) co_return ObjectInfo{id, cached->bytes().size()};
  const Result<LocatedObject> found = co_await core_.locate(id, deadline);
  if (!found) co_return fail(found.error());
  co_return ObjectInfo{id, found->length()};
}

Task<Result<ObjectStream>> LocalApi::open(base::ObjectId id, std::optional<Range> range,
                                          runtime::Deadline deadline) {
  ObjectStream stream;
  ObjectPtr cached = core_.cached(id);
  LocatedObject found;
  if (cached) {
    stream.object_length = cached->bytes().size();
  } else {
    Result<LocatedObject> located = co_await core_.locate(id, deadline);
    if (!located) co_return fail(std::move(located.error()));
    found = std::move(*located);
    stream.object_length = found.length();
  }
  const Result<Range> wanted = cut(range, stream.object_length);
  if (!wanted) co_return fail(wanted.error());
  stream.range = *wanted;
  if (!cached && wanted->length != 0) {
    auto opened =
        co_await open_range(&core_, {std::move(found), wanted->offset, wanted->length}, deadline);
    if (!opened) co_return fail(std::move(opened.error()));
    cached = std::move(opened->cached);
    if (!cached) {
      stream.body =
          std::make_unique<ObjectSource>(core_, std::move(opened->range), std::move(opened->first));
      co_return stream;
    }
  }
  stream.body = std::make_unique<MemorySource>(std::move(cached), *wanted);
  co_return stream;
}

Task<Result<storage_api::Stored>> LocalApi::put(storage_api::NewObject object,
                                                storage_api::Call call) {
  NewBytes bytes{std::move(object.bytes), object.expected, call.tenant, origin_of(call)};
  const Result<Stored> stored = co_await core_.put(std::move(bytes), call.deadline);
  co_return told(stored);
}

Task<Result<void>> LocalApi::remove(base::ObjectId id, storage_api::Call call) {
  return core_.remove({id, call.tenant}, {call.deadline, origin_of(call)});
}

Task<Result<UploadInfo>> LocalApi::begin_upload(storage_api::NewUpload upload,
                                                storage_api::Call call) {
  NewUpload asked{upload.length, upload.expected, std::move(call.tenant)};
  const auto begun = co_await core_.begin_upload(std::move(asked), call.deadline);
  if (!begun) co_return fail(begun.error());
  co_return told(*begun);
}

Task<Result<UploadInfo>> LocalApi::stat_upload(storage_api::UploadId id, storage_api::Call call) {
  const auto state = co_await core_.upload_state(id, std::move(call.tenant), call.deadline);
  if (!state) co_return fail(state.error());
  UploadInfo info = told(state->upload);
  for (const volume::PartRange& range : state->arrived) {
    info.arrived.emplace_back(range.first, range.last);
  }
  co_return info;
}

Task<Result<b3::ChainingValue>> LocalApi::put_part(storage_api::UploadId id, std::uint64_t part,
                                                   base::Buffer bytes, storage_api::Call call) {
  Result<OpenUpload> open = co_await core_.open_upload(id, std::move(call.tenant), call.deadline);
  if (!open) co_return fail(std::move(open.error()));
  const Result<void> exists = check_part_number(open->upload, part);
  if (!exists) co_return fail(exists.error());
  const Result<void> fits = check_part_length(open->upload, part, bytes.size());
  if (!fits) co_return fail(fits.error());
  co_return co_await core_.put_part(std::move(*open), part, std::move(bytes), call.deadline);
}

Task<Result<storage_api::Stored>> LocalApi::commit_upload(storage_api::UploadId id,
                                                          storage_api::Call call) {
  const Result<Stored> stored =
      co_await core_.commit_upload(id, call.tenant, {call.deadline, origin_of(call)});
  co_return told(stored);
}

Task<Result<void>> LocalApi::abort_upload(storage_api::UploadId id, storage_api::Call call) {
  return core_.abort_upload(id, std::move(call.tenant), call.deadline);
}

Task<Result<std::vector<ObjectInfo>>> LocalApi::list(std::optional<base::ObjectId> after,
                                                     std::size_t limit,
                                                     runtime::Deadline deadline) {
  const auto listed = co_await core_.volumes().list(after, limit, deadline);
  if (!listed) co_return fail(listed.error());
  std::vector<ObjectInfo> objects;
  objects.reserve(listed->size());
  for (const volume::Volume::Listed& one : *listed) objects.push_back({one.id, one.length});
  co_return objects;
}

std::unique_ptr<storage_api::Changes> LocalApi::listen() {
  return std::make_unique<EventChanges>(core_.events());
}

}  // namespace ron::storage
