#include "sim/harness/faulty_disk.h"

#include <stdexcept>

namespace ron::sim {

using platform::File;
using platform::Task;

class FaultyDisk::SegmentFile final : public File {
 public:
  SegmentFile(FaultyDisk& disk, std::unique_ptr<File> file) : disk_(disk), file_(std::move(file)) {}

  Task<base::Result<base::Buffer>> read_at(std::uint64_t offset, base::Buffer into) override {
    return file_->read_at(offset, std::move(into));
  }
  std::optional<std::size_t> try_read_at(std::uint64_t offset,
                                         base::MutableBytes into) noexcept override {
    return file_->try_read_at(offset, into);
  }
  Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t offset, std::vector<base::Buffer> pieces) override {
    disk_.before_write();
    return file_->write_gather(offset, std::move(pieces));
  }
  Task<base::Result<void>> sync() override {
    if (disk_.skips_sync_) return pretend();
    return file_->sync();
  }
  Task<base::Result<std::uint64_t>> size() override { return file_->size(); }
  Task<base::Result<void>> truncate(std::uint64_t length) override {
    return file_->truncate(length);
  }
  base::Result<bool> try_lock(platform::FileLock lock) override { return file_->try_lock(lock); }

 private:
  static Task<base::Result<void>> pretend() { co_return base::Result<void>(); }

  FaultyDisk& disk_;
  std::unique_ptr<File> file_;
};

void FaultyDisk::before_write() {
  if (!std::exchange(armed_, false)) return;
  on_throw_();
  throw std::runtime_error("a defect in the writer, as planned");
}

Task<base::Result<std::unique_ptr<File>>> FaultyDisk::open(std::string path,
                                                           platform::OpenOptions options) {
  const bool is_segment = path.ends_with(".seg");
  auto file = co_await disk_.open(std::move(path), options);
  if (!file || !is_segment) co_return file;
  co_return std::make_unique<SegmentFile>(*this, std::move(*file));
}

}  // namespace ron::sim
