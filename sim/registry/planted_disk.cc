#include "sim/registry/planted_disk.h"

#include <algorithm>
#include <utility>

#include "base/ulid.h"
#include "chain/frame.h"
#include "chain/proposal.h"

namespace ron::sim {

using platform::File;
using platform::Task;

namespace {

bool is_segment(std::string_view path, std::string_view log) {
  return path.ends_with(".seg") && path.find(log) != std::string_view::npos;
}

// What it says of a proposal that is gone it says of one that never was.
std::string forget(std::string frame) {
  constexpr std::size_t kUlidChars = 26;
  const std::string nobody(kUlidChars, '0');
  if (frame.size() <= kUlidChars) return frame;
  const std::string id = frame.substr(frame.size() - kUlidChars);
  const bool is_gone = base::Ulid::parse(id) && frame == chain::journal_gone(id);
  return is_gone ? chain::journal_gone(nobody) : std::move(frame);
}

// The same batch with other frames of the same lengths; nothing if it is none.
std::optional<base::Buffer> forget_all(const base::Buffer& batch, chain::FrameSpot spot) {
  const chain::FrameSpot begin = spot;
  std::vector<std::string> frames;
  std::uint64_t first = 0;
  for (base::ByteView bytes = batch.view(); !bytes.empty();) {
    if (bytes.size() < chain::kFrameHeadBytes) return std::nullopt;
    const auto head = chain::parse_frame_head(bytes, spot);
    if (!head || head->stored_bytes() > bytes.size()) return std::nullopt;
    if (frames.empty()) first = head->number;
    const base::ByteView stored = bytes.first(static_cast<std::size_t>(head->stored_bytes()));
    frames.push_back(forget(std::string(base::as_text(chain::frame_bytes(*head, stored)))));
    bytes = bytes.subspan(stored.size());
    spot.offset += stored.size();
  }
  std::vector<std::uint32_t> offsets(frames.size());
  return chain::encode_frames(frames, first, begin, offsets);
}

// Does what the file below it does.
class PassingFile : public File {
 public:
  explicit PassingFile(std::unique_ptr<File> file) : file_(std::move(file)) {}

  Task<base::Result<base::Buffer>> read_at(std::uint64_t offset, base::Buffer into) override {
    return file_->read_at(offset, std::move(into));
  }
  std::optional<std::size_t> try_read_at(std::uint64_t offset,
                                         base::MutableBytes into) noexcept override {
    return file_->try_read_at(offset, into);
  }
  Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t offset, std::vector<base::Buffer> pieces) override {
    return file_->write_gather(offset, std::move(pieces));
  }
  Task<base::Result<void>> sync() override { return file_->sync(); }
  Task<base::Result<std::uint64_t>> size() override { return file_->size(); }
  Task<base::Result<void>> truncate(std::uint64_t length) override {
    return file_->truncate(length);
  }
  base::Result<bool> try_lock(platform::FileLock lock) override { return file_->try_lock(lock); }

 protected:
  File& below() noexcept { return *file_; }

 private:
  std::unique_ptr<File> file_;
};

// Its syncs do nothing, or are one behind.
class SloppySegment final : public PassingFile {
 public:
  SloppySegment(bool is_late, std::unique_ptr<File> file)
      : PassingFile(std::move(file)), is_late_(is_late) {}

  Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t offset, std::vector<base::Buffer> pieces) override {
    if (std::exchange(owes_, false)) {
      const auto synced = co_await below().sync();
      if (!synced) co_return base::fail(synced.error());
    }
    co_return co_await below().write_gather(offset, std::move(pieces));
  }
  Task<base::Result<void>> sync() override {
    owes_ = is_late_;
    co_return base::Result<void>();
  }

 private:
  const bool is_late_;
  bool owes_ = false;
};

// Never hears that a proposal is gone.
class ForgetfulJournal final : public PassingFile {
 public:
  using PassingFile::PassingFile;

  Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t offset, std::vector<base::Buffer> pieces) override {
    if (pieces.size() == 1 && offset >= chain::kSegmentHeadBytes) {
      const auto bytes = co_await below().read_at(0, base::Buffer(chain::kSegmentHeadBytes));
      if (!bytes) co_return base::fail(bytes.error());
      const auto head = chain::parse_segment_head(bytes->view());
      auto changed = head ? forget_all(pieces.front(), {head->log, head->first, offset})
                          : std::optional<base::Buffer>();
      if (changed) pieces.front() = std::move(*changed);
    }
    co_return co_await below().write_gather(offset, std::move(pieces));
  }
};

}  // namespace

std::string PlantedDisk::place_of(std::string path) const {
  const std::size_t at = path.find("/pending");
  if (plant_ != RegistryPlant::LostJournal || at == std::string::npos) return path;
  return path.insert(at + 1, "life-" + std::to_string(life_) + "-");
}

Task<base::Result<std::unique_ptr<File>>> PlantedDisk::open(std::string path,
                                                            platform::OpenOptions options) {
  const bool is_late = plant_ == RegistryPlant::LateSync;
  const bool mangles = path.ends_with(".seg") && (is_late || plant_ == RegistryPlant::SkipSync);
  const bool forgets = plant_ == RegistryPlant::NoGone && is_segment(path, "/pending/");
  auto file = co_await disk_.open(place_of(std::move(path)), options);
  if (file && forgets) co_return std::make_unique<ForgetfulJournal>(std::move(*file));
  if (!file || !mangles) co_return file;
  co_return std::make_unique<SloppySegment>(is_late, std::move(*file));
}

// With the oldest segment of the log goes the one behind it, unless that is written to.
Task<base::Result<void>> PlantedDisk::remove(std::string path) {
  const bool is_prune = plant_ == RegistryPlant::PruneTooMuch && is_segment(path, "/log/");
  auto removed = co_await disk_.remove(place_of(path));
  if (!removed || !is_prune) co_return removed;
  const std::string folder = path.substr(0, path.rfind('/'));
  const auto entries = co_await disk_.list(folder);
  if (!entries) co_return removed;
  std::vector<std::string> segments;
  for (const platform::DirectoryEntry& entry : *entries) {
    if (entry.name.ends_with(".seg")) segments.push_back(entry.name);
  }
  std::ranges::sort(segments);
  if (segments.size() < 2) co_return removed;
  co_return co_await disk_.remove(folder + "/" + segments.front());
}

}  // namespace ron::sim
