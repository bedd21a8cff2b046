#include "services/index/store.h"

#include <utility>

#include "base/cbor.h"
#include "services/index/entries.h"
#include "services/index/memory_map.h"
#include "services/index/wires.h"
#include "volume/files.h"

namespace ron::index {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

// What is kept in memory at most in amnesia mode.
constexpr std::uint64_t kAmnesiaBytes = 256 * base::kMiB;
// Frames of the log that are read or applied at a time.
constexpr std::size_t kReplayFrames = 512;
constexpr std::size_t kReplayBytes = 4 * base::kMiB;

std::string encode_frame(const Store::Changes& changes) {
  std::string out;
  base::CborWriter writer(out);
  writer.array(2 * changes.size());
  for (const auto& change : changes) {
    writer.bytes(base::as_bytes(change.key));
    if (change.value) {
      writer.bytes(base::as_bytes(*change.value));
    } else {
      writer.null();
    }
  }
  return out;
}

Result<Store::Changes> decode_frame(std::string_view frame) {
  base::CborReader reader(frame);
  const std::uint64_t items = reader.array();
  Store::Changes changes;
  for (std::uint64_t i = 0; reader.ok() && i + 1 < items; i += 2) {
    std::string key(base::as_text(reader.bytes()));
    std::optional<std::string> value;
    if (reader.next_kind() == base::CborKind::Null) {
      reader.null();
    } else {
      value.emplace(base::as_text(reader.bytes()));
    }
    changes.push_back({std::move(key), std::move(value)});
  }
  if (!reader.complete() || items % 2 != 0) {
    return fail(Code::IntegrityFail, "a frame of the log holds no changes");
  }
  return changes;
}

platform::KeyValueBatch joined(std::vector<Store::Changes> all) {
  platform::KeyValueBatch batch;
  for (Store::Changes& changes : all) {
    for (auto& change : changes) batch.changes.push_back(std::move(change));
  }
  return batch;
}

}  // namespace

Store::Store(platform::Host host, platform::Disk* disk, StoreOptions options)
    : host_(host),
      disk_(disk),
      options_(std::move(options)),
      log_({.disk = disk_,
            .random = &host_.random,
            .lock = &kSegmentsLock,
            .directory = options_.directory + "/log",
            .segment_bytes = kSegmentBytes,
            .on_trouble = options_.on_trouble}) {}

Task<Result<void>> Store::open() {
  Result<void> done = co_await volume::make_directories(disk_, options_.directory, "log");
  if (done) done = co_await open_map();
  if (done) done = co_await replay();
  if (!done) co_return fail(done.error().code, options_.directory + ": " + done.error().message);
  co_return done;
}

Task<Result<void>> Store::open_map() {
  if (options_.is_amnesiac) {
    auto memory = std::make_unique<MemoryMap>(kAmnesiaBytes);
    memory_ = memory.get();
    map_ = std::move(memory);
    co_return Result<void>();
  }
  auto map = co_await host_.key_values.open(options_.directory + "/map",
                                            {.cache_bytes = options_.cache_bytes});
  if (!map) co_return fail(std::move(map.error()));
  map_ = std::move(*map);
  const auto position = co_await map_->get(std::string(kPositionKey));
  if (!position) co_return fail(position.error());
  if (!*position) co_return Result<void>();
  const auto number = decode_count(**position);
  if (!number) co_return fail(number.error());
  position_ = *number;
  co_return Result<void>();
}

// A frame that is in the map already may be applied again: it says what is, not what changes.
Task<Result<void>> Store::replay() {
  std::vector<Changes> pending;
  const std::uint64_t from = position_;
  std::uint64_t bytes = 0;
  Result<void> opened = co_await log_.open(from, [&pending, &bytes](const chain::FrameView& frame) {
    auto changes = decode_frame(base::as_text(frame.bytes));
    if (!changes) return Result<void>(fail(std::move(changes.error())));
    pending.push_back(std::move(*changes));
    bytes += frame.bytes.size();
    return Result<void>();
  });
  if (!opened) co_return opened;
  if (position_ > log_.next()) {
    co_return fail(Code::IntegrityFail, "the log ends before what the map has of it; restore both");
  }
  // What the map had when it was opened it has for good.
  const auto dropped = co_await log_.drop_below(from);
  if (!dropped) co_return fail(dropped.error());
  untidy_bytes_ = bytes;
  if (pending.empty()) co_return Result<void>();
  co_return co_await apply(joined(std::move(pending)), log_.next());
}

Task<Result<void>> Store::apply(platform::KeyValueBatch batch, std::uint64_t position) {
  batch.put(std::string(kPositionKey), encode_count(position));
  const Result<void> written = co_await map_->write(std::move(batch));
  if (!written) co_return fail(written.error());
  position_ = position;
  co_return Result<void>();
}

Task<Result<void>> Store::commit(std::vector<Changes> all) {
  std::vector<std::string> frames;
  std::uint64_t bytes = 0;
  for (const Changes& changes : all) {
    frames.push_back(encode_frame(changes));
    bytes += frames.back().size();
  }
  platform::KeyValueBatch batch = joined(std::move(all));
  if (memory_ != nullptr && !memory_->has_room_for(batch)) {
    co_return fail(Code::StorageFull, "the memory for amnesia mode is full");
  }
  const Result<void> appended = co_await log_.append(std::move(frames));
  if (!appended) co_return appended;
  untidy_bytes_ += bytes;
  map_is_behind_ = true;
  Result<void> applied = co_await apply(std::move(batch), log_.next());
  if (applied) map_is_behind_ = false;
  co_return applied;
}

// What the log took and the map did not is durable, so it counts: the map catches up.
Task<Result<void>> Store::repair() {
  const Result<void> repaired = co_await log_.repair();
  if (!repaired) co_return repaired;
  while (position_ < log_.next()) {
    const auto frames = co_await log_.read(position_, kReplayFrames, kReplayBytes);
    if (!frames) co_return fail(frames.error());
    std::vector<Changes> missing;
    for (const std::string& frame : *frames) {
      auto changes = decode_frame(frame);
      if (!changes) co_return fail(std::move(changes.error()));
      missing.push_back(std::move(*changes));
    }
    const std::uint64_t until = position_ + missing.size();
    const Result<void> applied = co_await apply(joined(std::move(missing)), until);
    if (!applied) co_return applied;
  }
  map_is_behind_ = false;
  co_return Result<void>();
}

Task<Result<void>> Store::tidy() {
  if (untidy_bytes_ < kTidyBytes) co_return Result<void>();
  co_return co_await shorten_log();
}

Task<Result<void>> Store::shorten_log() {
  const Result<void> flushed = co_await map_->flush();
  if (!flushed) co_return flushed;
  untidy_bytes_ = 0;
  const auto dropped = co_await log_.drop_below(position_);
  if (!dropped) co_return fail(dropped.error());
  co_return Result<void>();
}

Task<Result<void>> Store::close() {
  const Result<void> shortened = co_await shorten_log();
  if (!shortened) co_return shortened;
  co_return co_await log_.close();
}

}  // namespace ron::index
