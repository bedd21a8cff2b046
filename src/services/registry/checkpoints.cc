#include "services/registry/checkpoints.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>

#include "chain/proof.h"
#include "services/registry/wires.h"
#include "volume/files.h"

namespace ron::registry {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::size_t kDigits = 20;
constexpr std::string_view kNote = ".note";
constexpr std::string_view kState = ".state";
constexpr std::size_t kMaxSnapshotBytes = 512 * base::kMiB;
// In the window that retention keeps: how finely it can be pruned.
constexpr std::uint64_t kSnapshotsInWindow = 8;

std::string file_name(std::uint64_t version, std::string_view suffix) {
  std::string digits = std::to_string(version);
  return std::string(kDigits - digits.size(), '0') + digits + std::string(suffix);
}

std::optional<std::uint64_t> parse_name(std::string_view name, std::string_view suffix) {
  if (name.size() != kDigits + suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  std::uint64_t version = 0;
  const char* const end = name.data() + kDigits;
  const auto [stop, status] = std::from_chars(name.data(), end, version);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return version;
}

Result<chain::Checkpoint> read_checkpoint(std::string_view note) {
  const auto parsed = chain::parse_note(note);
  if (!parsed) return fail(parsed.error());
  return chain::parse_checkpoint(parsed->text);
}

// The key is known by itself; its name is what the checkpoint says, and the log has to confirm it.
Result<void> check_signature(const SignedCheckpoint& checkpoint, const auth::PublicKey& key) {
  const auto verifier = chain::NoteVerifier::make(checkpoint.checkpoint.origin, key);
  if (!verifier) return fail(verifier.error());
  const auto text = chain::open_note(checkpoint.note, std::span(&*verifier, 1));
  if (!text) return fail(text.error());
  return {};
}

}  // namespace

Checkpoints::Checkpoints(platform::Disk* disk, std::string directory)
    : disk_(disk), directory_(std::move(directory)), lock_(kCheckpointsLock) {}

Task<Result<std::string>> Checkpoints::read_file(std::string name, std::size_t most) const {
  auto file =
      co_await disk_->open(directory_ + "/" + name, {platform::OpenMode::ReadExisting, false});
  if (!file) co_return fail(std::move(file.error()));
  const auto size = co_await (*file)->size();
  if (!size) co_return fail(size.error());
  if (*size > most) co_return fail(Code::IntegrityFail, name + " is too large");
  auto bytes = co_await (*file)->read_at(0, base::Buffer(*size));
  if (!bytes) co_return fail(std::move(bytes.error()));
  co_return std::string(base::as_text(bytes->view()));
}

Task<Result<std::optional<Checkpoints::Base>>> Checkpoints::open(auth::PublicKey key) {
  const auto names = co_await disk_->list(directory_);
  if (!names) co_return fail(names.error());
  std::vector<Item> items;
  std::string trouble;
  for (const platform::DirectoryEntry& entry : *names) {
    const auto version = parse_name(entry.name, kNote);
    if (!version) continue;
    auto note = co_await read_file(entry.name, chain::kMaxNoteBytes);
    if (!note) co_return fail(note.error());
    auto checkpoint = read_checkpoint(*note);
    if (!checkpoint || checkpoint->version != *version) {
      trouble = entry.name + ": " +
                (checkpoint ? "it is of another version" : checkpoint.error().message);
      continue;
    }
    const bool has_state = std::ranges::any_of(
        *names, [&](const auto& other) { return parse_name(other.name, kState) == *version; });
    items.push_back({std::make_shared<const SignedCheckpoint>(
                         SignedCheckpoint{std::move(*checkpoint), std::move(*note), 0}),
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
  const auto genuine = check_signature(*checkpoint, key);
  if (!genuine) co_return fail(genuine.error());
  const auto snapshot = co_await read_snapshot(checkpoint->checkpoint.version);
  if (!snapshot) co_return fail(snapshot.error());
  if (snapshot->hash() != checkpoint->checkpoint.state) {
    co_return fail(Code::IntegrityFail, "the state is not what the signed checkpoint says");
  }
  auto state = chain::restore(*snapshot, chain::Signatures::Trust);
  if (!state) co_return fail(std::move(state.error()));
  const chain::Head head{checkpoint->checkpoint.version, checkpoint->checkpoint.hash};
  if (state->head() != head || chain::log_origin(state->log()) != checkpoint->checkpoint.origin) {
    co_return fail(Code::IntegrityFail, "the state is of another version or log");
  }
  co_return Base{std::move(checkpoint), std::move(*state)};
}

Task<Result<chain::Snapshot>> Checkpoints::read_snapshot(std::uint64_t version) const {
  const std::string name = file_name(version, kState);
  const auto bytes = co_await read_file(name, kMaxSnapshotBytes);
  if (!bytes) co_return fail(bytes.error());
  auto snapshot = chain::decode_snapshot(base::as_bytes(*bytes));
  if (!snapshot) co_return fail(Code::IntegrityFail, name + ": " + snapshot.error().message);
  co_return snapshot;
}

Task<Result<void>> Checkpoints::add(SignedCheckpoint signed_one, const chain::Snapshot* snapshot) {
  const std::uint64_t version = signed_one.checkpoint.version;
  const std::string state = chain::encode(*snapshot);
  Result<void> done =
      co_await volume::replace_file(disk_, directory_, file_name(version, kState), state);
  if (!done) co_return done;
  done =
      co_await volume::replace_file(disk_, directory_, file_name(version, kNote), signed_one.note);
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
        unneeded.push_back(file_name(version, kState));
      }
      --newer;
    }
    while (items_.size() > kMost && !items_.front().has_state) {
      unneeded.push_back(file_name(items_.front().checkpoint->checkpoint.version, kNote));
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
