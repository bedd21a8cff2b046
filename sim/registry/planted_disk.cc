#include "sim/registry/planted_disk.h"

#include <utility>

namespace ron::sim {

using platform::File;
using platform::Task;

// Its syncs do nothing, or are one behind.
class PlantedDisk::SegmentFile final : public File {
 public:
  SegmentFile(bool is_late, std::unique_ptr<File> file)
      : is_late_(is_late), file_(std::move(file)) {}

  Task<base::Result<base::Buffer>> read_at(std::uint64_t offset, base::Buffer into) override {
    return file_->read_at(offset, std::move(into));
  }
  std::optional<std::size_t> try_read_at(std::uint64_t offset,
                                         base::MutableBytes into) noexcept override {
    return file_->try_read_at(offset, into);
  }
  Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t offset, std::vector<base::Buffer> pieces) override {
    if (std::exchange(owes_, false)) {
      const auto synced = co_await file_->sync();
      if (!synced) co_return base::fail(synced.error());
    }
    co_return co_await file_->write_gather(offset, std::move(pieces));
  }
  Task<base::Result<void>> sync() override {
    owes_ = is_late_;
    co_return base::Result<void>();
  }
  Task<base::Result<std::uint64_t>> size() override { return file_->size(); }
  Task<base::Result<void>> truncate(std::uint64_t length) override {
    return file_->truncate(length);
  }
  base::Result<bool> try_lock(platform::FileLock lock) override { return file_->try_lock(lock); }

 private:
  const bool is_late_;
  bool owes_ = false;
  std::unique_ptr<File> file_;
};

std::string PlantedDisk::place_of(std::string path) const {
  const std::size_t at = path.find("/pending");
  if (plant_ != RegistryPlant::LostJournal || at == std::string::npos) return path;
  return path.insert(at + 1, "life-" + std::to_string(life_) + "-");
}

Task<base::Result<std::unique_ptr<File>>> PlantedDisk::open(std::string path,
                                                            platform::OpenOptions options) {
  const bool is_late = plant_ == RegistryPlant::LateSync;
  const bool mangles = path.ends_with(".seg") && (is_late || plant_ == RegistryPlant::SkipSync);
  auto file = co_await disk_.open(place_of(std::move(path)), options);
  if (!file || !mangles) co_return file;
  co_return std::make_unique<SegmentFile>(is_late, std::move(*file));
}

}  // namespace ron::sim
