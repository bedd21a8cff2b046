#include "services/registry/checkpoints.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "b3/hash.h"
#include "chain/checkpoint_files.h"
#include "services/registry/wires.h"
#include "volume/files.h"

namespace ron::registry {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

// In the window that retention keeps: how finely it can be pruned.
constexpr std::uint64_t kSnapshotsInWindow = 8;

Result<chain::Checkpoint> read_checkpoint(std::string_view note) {
  const auto parsed = chain::parse_note(note);
  if (!parsed) return fail(parsed.error());
  return chain::parse_checkpoint(parsed->text);
}

}  // namespace

Checkpoints::Checkpoints(platform::Disk* disk, std::string directory, std::size_t most_bytes)
    : disk_(disk),
      directory_(std::move(directory)),
      most_bytes_(most_bytes),
      lock_(kCheckpointsLock) {}

Task<Result<std::string>> Checkpoints::read_file(std::string name, std::size_t most) const {
  return chain::read_whole_file(disk_, directory_ + "/" + name, most);
}

Task<Result<std::optional<Checkpoints::Base>>> Checkpoints::open(auth::PublicKey key) {
  const auto names = co_await disk_->list(directory_);
  if (!names) co_return fail(names.error());
  std::vector<Item> items;
  std::string trouble;
  for (const platform::DirectoryEntry& entry : *names) {
    const auto version = chain::parse_checkpoint_file(entry.name, chain::kNoteSuffix);
    if (!version) continue;
    auto note = co_await read_file(entry.name, chain::kMaxNoteBytes);
    if (!note) co_return fail(note.error());
    auto checkpoint = read_checkpoint(*note);
    if (!checkpoint || checkpoint->version != *version) {
      trouble = entry.name + ": " +
                (checkpoint ? "it is of another version" : checkpoint.error().message);
      continue;
    }
    const bool has_state = std::ranges::any_of(*names, [&](const auto& other) {
      return chain::parse_checkpoint_file(other.name, chain::kStateSuffix) == *version;
    });
    items.push_back({std::make_shared<const SignedCheckpoint>(
                         SignedCheckpoint{std::move(*checkpoint), std::move(*note)}),
                     has_state});
  }
  std::ranges::sort(items, {},
                    [](const Item& item) { return item.checkpoint->checkpoint.version; });
  std::optional<Base> base;
  for (auto it = items.rbegin(); it != items.rend() && !base; ++it) {
    if (!it->has_state) continue;
    auto restored = co_await restore(it->checkpoint, key);
    if (restored) {
      base = std::move(*restored);
    } else {
      trouble = restored.error().message;
      it->has_state = false;
    }
  }
  if (!base && !trouble.empty()) {
    co_return fail(Code::IntegrityFail, directory_ + ": no checkpoint is whole: " + trouble);
  }
  const std::lock_guard lock(lock_);
  items_ = std::move(items);
  co_return base;
}

Task<Result<Checkpoints::Base>> Checkpoints::restore(CheckpointPtr checkpoint,
                                                     auth::PublicKey key) const {
  const auto genuine = chain::open_checkpoint(checkpoint->note, key);
  if (!genuine) co_return fail(genuine.error());
  const auto snapshot = co_await read_snapshot(checkpoint->checkpoint.version);
  if (!snapshot) co_return fail(snapshot.error());
  auto state = chain::open_snapshot(*snapshot, checkpoint->checkpoint, chain::Signatures::Trust);
  if (!state) co_return fail(std::move(state.error()));
  co_return Base{std::move(checkpoint), std::move(*state)};
}

Task<Result<chain::Snapshot>> Checkpoints::read_snapshot(std::uint64_t version) const {
  const std::string name = chain::checkpoint_file(version, chain::kStateSuffix);
  const auto bytes = co_await read_file(name, most_bytes_);
  if (!bytes) co_return fail(bytes.error());
  auto snapshot = chain::decode_snapshot(base::as_bytes(*bytes));
  if (!snapshot) co_return fail(Code::IntegrityFail, name + ": " + snapshot.error().message);
  co_return snapshot;
}

Task<Result<std::string>> Checkpoints::read_summary(CheckpointPtr checkpoint) const {
  const std::string name =
      chain::checkpoint_file(checkpoint->checkpoint.version, chain::kStateSuffix);
  const auto summary = co_await chain::read_summary(disk_, directory_ + "/" + name);
  if (!summary) co_return fail(summary.error());
  if (b3::hash(base::as_bytes(*summary)) != checkpoint->checkpoint.state) {
    co_return fail(Code::IntegrityFail,
                   name + ": the state is not what the signed checkpoint says");
  }
  co_return *summary;
}

Task<Result<void>> Checkpoints::add(SignedCheckpoint signed_one, const chain::Snapshot* snapshot) {
  const std::uint64_t version = signed_one.checkpoint.version;
  const std::string state = chain::encode(*snapshot);
  if (state.size() > most_bytes_) {
    co_return fail(Code::Quota, "the state has " + std::to_string(state.size()) +
                                    " bytes, and no snapshot of more than " +
                                    std::to_string(most_bytes_) + " is read back");
  }
  Result<void> done = co_await volume::replace_file(
      disk_, directory_, chain::checkpoint_file(version, chain::kStateSuffix), state);
  if (!done) co_return done;
  done = co_await volume::replace_file(
      disk_, directory_, chain::checkpoint_file(version, chain::kNoteSuffix), signed_one.note);
  if (!done) co_return done;
  const std::lock_guard lock(lock_);
  std::erase_if(items_, [version](const Item& item) {
    return item.checkpoint->checkpoint.version == version;
  });
  items_.push_back({std::make_shared<const SignedCheckpoint>(std::move(signed_one)), true});
  co_return done;
}

// Names only: what a removal misses is tried again with the next one.
Task<void> Checkpoints::tidy(std::uint64_t first, std::uint64_t keep) {
  std::vector<std::string> unneeded;
  {
    const std::lock_guard lock(lock_);
    const std::uint64_t step = std::max<std::uint64_t>(1, keep / kSnapshotsInWindow);
    std::optional<std::uint64_t> last_kept;
    std::size_t newer = std::ranges::count_if(items_, &Item::has_state);
    for (Item& item : items_) {
      if (!item.has_state) continue;
      const std::uint64_t version = item.checkpoint->checkpoint.version;
      const bool is_base = version >= first && !last_kept;
      const bool is_step = keep != 0 && last_kept && version >= *last_kept + step;
      if (is_base || is_step || newer <= kSnapshotsKept) {
        last_kept = version;
      } else {
        item.has_state = false;
        unneeded.push_back(chain::checkpoint_file(version, chain::kStateSuffix));
      }
      --newer;
    }
    while (items_.size() > kMost && !items_.front().has_state) {
      unneeded.push_back(chain::checkpoint_file(items_.front().checkpoint->checkpoint.version,
                                                chain::kNoteSuffix));
      items_.erase(items_.begin());
    }
  }
  for (const std::string& name : unneeded) co_await disk_->remove(directory_ + "/" + name);
}

std::vector<CheckpointPtr> Checkpoints::list() const {
  const std::lock_guard lock(lock_);
  std::vector<CheckpointPtr> all;
  all.reserve(items_.size());
  for (const Item& item : items_) all.push_back(item.checkpoint);
  return all;
}

CheckpointPtr Checkpoints::latest() const {
  const std::lock_guard lock(lock_);
  return items_.empty() ? nullptr : items_.back().checkpoint;
}

std::uint64_t Checkpoints::pruned_below() const {
  const std::lock_guard lock(lock_);
  std::uint64_t below = 0;
  for (const Item& item : items_) {
    below = std::max(below, item.checkpoint->checkpoint.pruned_below);
  }
  return below;
}

CheckpointPtr Checkpoints::covering(std::uint64_t version) const {
  const std::lock_guard lock(lock_);
  const auto found = std::ranges::find_if(items_, [version](const Item& item) {
    return item.checkpoint->checkpoint.version >= version;
  });
  return found == items_.end() ? nullptr : found->checkpoint;
}

CheckpointPtr Checkpoints::with_state(std::uint64_t version) const {
  const std::lock_guard lock(lock_);
  CheckpointPtr newest;
  for (const Item& item : items_) {
    if (item.has_state && item.checkpoint->checkpoint.version <= version) newest = item.checkpoint;
  }
  return newest;
}

}  // namespace ron::registry
