#include "volume/snapshots.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "volume/compactor.h"

namespace ron::volume {
namespace {

using base::Code;
using base::Result;
using platform::OpenMode;
using platform::Task;

constexpr std::size_t kNameBytes = 63;
constexpr char kUnfinished = '.';  // begins no snapshot's name

// The one operation at a time.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& busy) : busy_(busy), mine_(!busy.exchange(true)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (mine_) busy_.store(false);
  }
  [[nodiscard]] bool mine() const noexcept { return mine_; }

 private:
  std::atomic<bool>& busy_;
  const bool mine_;
};

base::Error busy_error() { return {Code::Busy, "another snapshot is being made or removed"}; }

base::Error bad_name() {
  return {Code::Malformed,
          "a snapshot's name is a lower-case letter or digit and up to 62 of those, '.', '_', '-'"};
}

// A directory and all below it.
Task<Result<void>> remove_tree(platform::Disk* disk, std::string path) {
  auto entries = co_await disk->list(path);
  if (!entries) co_return base::fail(std::move(entries.error()));
  for (const platform::DirectoryEntry& entry : *entries) {
    const std::string below = path + "/" + entry.name;
    Task<Result<void>> task = entry.is_directory ? remove_tree(disk, below) : disk->remove(below);
    auto removed = co_await task;
    if (!removed) co_return removed;
  }
  auto removed = co_await disk->remove(path);
  co_return removed;
}

}  // namespace

bool valid_snapshot_name(std::string_view name) noexcept {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto known = [plain](char c) { return plain(c) || c == '.' || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= kNameBytes && plain(name.front()) &&
         std::ranges::all_of(name, known);
}

std::string Snapshots::unfinished_path() const {
  const platform::Host& host = state_->host();
  const base::Ulid id(static_cast<std::uint64_t>(host.clock.unix_ms()),
                      static_cast<std::uint16_t>(host.random.next()), host.random.next());
  return path_of(kUnfinished + std::string(id.text()));
}

Task<Result<std::vector<std::string>>> Snapshots::names() {
  auto entries = co_await state_->host().disk.list(root());
  if (!entries && entries.error().code != Code::NotFound) {
    co_return base::fail(std::move(entries.error()));
  }
  std::vector<std::string> names;
  if (!entries) co_return names;
  for (platform::DirectoryEntry& entry : *entries) {
    if (entry.is_directory) names.push_back(std::move(entry.name));
  }
  std::ranges::sort(names);
  co_return names;
}

// What cannot be removed now is tried again the next time.
Task<void> Snapshots::remove_unfinished() {
  auto all = co_await names();
  if (!all) co_return;
  for (const std::string& name : *all) {
    if (name.front() != kUnfinished) continue;
    static_cast<void>(co_await remove_tree(&state_->host().disk, path_of(name)));
  }
}

Task<Result<Snapshot>> Snapshots::make(std::string name) {
  if (!valid_snapshot_name(name)) co_return base::fail(bad_name());
  const Turn turn(busy_);
  if (!turn.mine()) co_return base::fail(busy_error());
  co_await remove_unfinished();
  auto taken = co_await names();
  if (!taken) co_return base::fail(std::move(taken.error()));
  if (std::ranges::binary_search(*taken, name)) {
    co_return base::fail(
        base::Error(Code::PreconditionFailed, "a snapshot of this name exists").with("name", name));
  }
  if (taken->size() >= kMostSnapshots) {
    co_return base::fail(base::Error(Code::Quota,
                                     "there are all the snapshots there may be; remove "
                                     "one first")
                             .with("snapshots", std::to_string(kMostSnapshots)));
  }
  // It gets its name when it is whole and on the medium.
  platform::Disk& disk = state_->host().disk;
  const std::string path = unfinished_path();
  auto done = co_await disk.make_directory(root());
  if (done) done = co_await disk.sync_directory(state_->options().directory);
  if (done) done = co_await fill(path);
  if (done) done = co_await disk.rename(path, path_of(name));
  if (done) done = co_await disk.sync_directory(root());
  if (!done) {
    co_await remove_unfinished();
    co_return base::fail(std::move(done.error()));
  }
  auto measured = co_await measure(std::move(name));
  co_return measured;
}

Task<Result<void>> Snapshots::fill(std::string path) {
  platform::Disk& disk = state_->host().disk;
  const std::string segments = path + "/" + std::string(kSegmentsName);
  auto done = co_await disk.make_directory(path);
  if (done) done = co_await disk.make_directory(segments);
  if (done) done = co_await copy_identity(path);
  if (!done) co_return done;
  auto linked = co_await ask<bool>(commands_, runtime::Shutdown(), [&segments](Reply<bool> reply) {
    return Command(LinkCommand{segments, std::move(reply)});
  });
  if (!linked) co_return base::fail(std::move(linked.error()));
  done = co_await disk.sync_directory(segments);
  if (done) done = co_await disk.sync_directory(path);
  co_return done;
}

Task<Result<void>> Snapshots::copy_identity(std::string into) {
  const std::string text = encode(state_->identity);
  base::Buffer bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  auto file = co_await state_->host().disk.open(into + "/" + std::string(kIdentityName),
                                                {OpenMode::CreateNew, false});
  if (!file) co_return base::fail(std::move(file.error()));
  auto written = co_await (*file)->write_at(0, std::move(bytes));
  if (!written) co_return base::fail(std::move(written.error()));
  auto synced = co_await (*file)->sync();
  co_return synced;
}

Task<Result<Snapshot>> Snapshots::measure(std::string name) {
  platform::Disk& disk = state_->host().disk;
  Snapshot snapshot{name, path_of(name), 0, 0};
  const std::string segments = snapshot.path + "/" + std::string(kSegmentsName);
  auto entries = co_await disk.list(segments);
  if (!entries) co_return base::fail(std::move(entries.error()));
  for (const platform::DirectoryEntry& entry : *entries) {
    if (!parse_segment_name(entry.name)) continue;
    auto file = co_await disk.open(segments + "/" + entry.name, {OpenMode::ReadExisting, false});
    if (!file) co_return base::fail(std::move(file.error()));
    auto size = co_await (*file)->size();
    if (!size) co_return base::fail(std::move(size.error()));
    ++snapshot.segments;
    snapshot.bytes += *size;
  }
  co_return snapshot;
}

Task<Result<std::vector<Snapshot>>> Snapshots::list() {
  auto all = co_await names();
  if (!all) co_return base::fail(std::move(all.error()));
  std::vector<Snapshot> snapshots;
  for (std::string& name : *all) {
    if (!valid_snapshot_name(name)) continue;
    auto snapshot = co_await measure(std::move(name));
    // One that is being removed is none.
    if (!snapshot && snapshot.error().code == Code::NotFound) continue;
    if (!snapshot) co_return base::fail(std::move(snapshot.error()));
    snapshots.push_back(std::move(*snapshot));
  }
  co_return snapshots;
}

Task<Result<void>> Snapshots::remove(std::string name) {
  if (!valid_snapshot_name(name)) co_return base::fail(bad_name());
  const Turn turn(busy_);
  if (!turn.mine()) co_return base::fail(busy_error());
  platform::Disk& disk = state_->host().disk;
  auto there = co_await names();
  if (!there) co_return base::fail(std::move(there.error()));
  if (!std::ranges::binary_search(*there, name)) {
    co_return base::fail(
        base::Error(Code::NotFound, "there is no such snapshot").with("name", name));
  }
  auto identity = co_await disk.open(path_of(name) + "/" + std::string(kIdentityName),
                                     {OpenMode::ReadExisting, false});
  if (identity) {
    const Result<bool> claimed = (*identity)->try_lock(platform::FileLock::Exclusive);
    if (!claimed) co_return base::fail(claimed.error());
    if (!*claimed) {
      co_return base::fail(Code::PreconditionFailed, "a process uses this snapshot");
    }
  }
  const std::string path = unfinished_path();
  auto renamed = co_await disk.rename(path_of(name), path);
  if (!renamed) co_return renamed;
  auto synced = co_await disk.sync_directory(root());
  if (!synced) co_return synced;
  auto removed = co_await remove_tree(&disk, path);
  co_await remove_unfinished();
  co_return removed;
}

}  // namespace ron::volume
