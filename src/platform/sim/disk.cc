#include "platform/sim/disk.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "platform/disk_error.h"
#include "platform/sim/operation.h"
#include "platform/sim/world.h"

namespace ron::platform::sim {
namespace {

constexpr std::uint64_t kDirectAlignment = base::Buffer::kPageBytes;
constexpr PerMillion kInMemory = kAlways / 2;  // how often a read needs no disk

std::unexpected<base::Error> failed(std::string_view what, std::string_view path, int error) {
  return base::fail(disk_error(what, path, error));
}

}  // namespace

template <class T>
Task<base::Result<T>> SimDisk::perform(Duration takes, std::string what, std::string path,
                                       std::move_only_function<base::Result<T>()> effect) {
  return sim::perform<T>(&world_, &power_, takes, disk_error(what, path, EIO), std::move(effect));
}

bool SimDisk::fails(DiskOp op, PerMillion rate) {
  std::uint32_t& ordered = fail_next_[static_cast<std::size_t>(op)];
  const bool now = ordered != 0 || world_.chance(rate);
  if (ordered != 0) --ordered;
  if (now) world_.trace(TraceKind::Fault, node_, EIO);
  return now;
}

Duration SimDisk::sync_time() {
  const FaultPlan& plan = world_.faults();
  return world_.chance(plan.slow_sync) ? plan.slow_sync_lasts : options_.sync_takes;
}

// An open file. It counts as closed when the last operation on it is over.
struct OpenFile {
  OpenFile(SimDisk& of, DiskImage& contents, DiskImage::InodePtr file, std::uint64_t at_epoch)
      : disk(of), image(contents), inode(std::move(file)), epoch(at_epoch) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (epoch != disk.power_cuts()) return;
    DiskImage::unlock(*inode, this);
    image.close(*inode);
  }

  SimDisk& disk;
  DiskImage& image;
  DiskImage::InodePtr inode;
  std::uint64_t epoch;
};

class SimFile final : public File {
 public:
  SimFile(SimDisk& disk, std::shared_ptr<OpenFile> file, std::string path, OpenOptions options)
      : disk_(disk), file_(std::move(file)), path_(std::move(path)), options_(options) {}

  Task<base::Result<base::Buffer>> read_at(std::uint64_t offset, base::Buffer into) override {
    const int refused = refuse(offset, into.size());
    if (refused != 0) co_return failed("cannot read", path_, refused);
    auto effect = [this_disk = &disk_, file = file_, path = path_, offset,
                   buffer = std::move(into)]() mutable -> base::Result<base::Buffer> {
      return read(*this_disk, *file, path, offset, std::move(buffer));
    };
    base::Result<base::Buffer> result = co_await disk_.perform<base::Buffer>(
        disk_.options_.read_takes, "cannot read", path_, std::move(effect));
    co_return result;
  }

  std::optional<std::size_t> try_read_at(std::uint64_t offset,
                                         base::MutableBytes into) noexcept override {
    // What a test wants to fail is left for the read that reports it.
    if (options_.direct || refuse(0, 0) != 0 || disk_.told_to_fail(DiskOp::Read)) {
      return std::nullopt;
    }
    if (DiskImage::unreadable(*file_->inode, offset, into.size())) return std::nullopt;
    if (!disk_.world_.chance(kInMemory)) return std::nullopt;
    return read(disk_.world_, *file_, offset, into);
  }

  // The caller waits no simulated time: its whole work is one step of the pool's.
  base::Result<std::size_t> read_blocking(std::uint64_t offset, base::MutableBytes into) override {
    const int refused = refuse(offset, into.size());
    if (refused != 0) return failed("cannot read", path_, refused);
    auto done = read(disk_, *file_, path_, offset, base::Buffer(into.size()));
    if (!done) return base::fail(std::move(done.error()));
    std::ranges::copy(done->view(), into.begin());
    return done->size();
  }

  Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t offset, std::vector<base::Buffer> pieces) override {
    using Pieces = std::vector<base::Buffer>;
    int refused = refuse(offset, 0);
    for (const base::Buffer& piece : pieces) {
      if (refused == 0) refused = refuse(0, piece.size());
    }
    if (options_.mode == OpenMode::ReadExisting) refused = EBADF;
    if (refused != 0) co_return failed("cannot write", path_, refused);
    auto effect = [this_disk = &disk_, file = file_, path = path_, offset,
                   those = std::move(pieces)]() mutable -> base::Result<Pieces> {
      return write(*this_disk, *file, path, offset, std::move(those));
    };
    base::Result<Pieces> result = co_await disk_.perform<Pieces>(
        disk_.options_.write_takes, "cannot write", path_, std::move(effect));
    co_return result;
  }

  Task<base::Result<void>> sync() override {
    const int refused = refuse(0, 0);
    if (refused != 0) co_return failed("cannot sync", path_, refused);
    auto effect = [this_disk = &disk_, file = file_, path = path_,
                   number = file_->inode->changes]() -> base::Result<void> {
      return sync(*this_disk, *file, path, number);
    };
    base::Result<void> result =
        co_await disk_.perform<void>(disk_.sync_time(), "cannot sync", path_, std::move(effect));
    co_return result;
  }

  Task<base::Result<std::uint64_t>> size() override {
    const int refused = refuse(0, 0);
    if (refused != 0) co_return failed("cannot stat", path_, refused);
    co_return file_->inode->bytes.size();
  }

  Task<base::Result<void>> truncate(std::uint64_t length) override {
    int refused = refuse(0, 0);
    if (options_.mode == OpenMode::ReadExisting) refused = EBADF;
    if (refused != 0) co_return failed("cannot truncate", path_, refused);
    auto effect = [this_disk = &disk_, file = file_, path = path_, length]() -> base::Result<void> {
      const bool fails = this_disk->fails(DiskOp::Write, this_disk->world_.faults().fail_write);
      const int error = fails ? EIO : file->image.truncate(*file->inode, length);
      if (error != 0) return failed("cannot truncate", path, error);
      return {};
    };
    base::Result<void> result = co_await disk_.perform<void>(
        disk_.options_.name_takes, "cannot truncate", path_, std::move(effect));
    co_return result;
  }

  base::Result<bool> try_lock(FileLock lock) override {
    const int refused = refuse(0, 0);
    if (refused != 0) return failed("cannot lock", path_, refused);
    return DiskImage::try_lock(*file_->inode, file_.get(), lock);
  }

 private:
  // A file from before a power cut is dead; direct I/O wants aligned places and lengths.
  [[nodiscard]] int refuse(std::uint64_t offset, std::size_t bytes) const noexcept {
    if (file_->epoch != disk_.power_cuts()) return EIO;
    return options_.direct && (offset | bytes) % kDirectAlignment != 0 ? EINVAL : 0;
  }

  static base::Result<base::Buffer> read(SimDisk& disk, OpenFile& file, const std::string& path,
                                         std::uint64_t offset, base::Buffer buffer) {
    World& world = disk.world_;
    if (disk.fails(DiskOp::Read, world.faults().fail_read)) return failed("cannot read", path, EIO);
    if (DiskImage::unreadable(*file.inode, offset, buffer.size())) {
      return failed("cannot read", path, EIO);
    }
    buffer.resize(read(world, file, offset, buffer.span()));
    return buffer;
  }

  static std::size_t read(World& world, OpenFile& file, std::uint64_t offset,
                          base::MutableBytes into) {
    if (!into.empty() && world.chance(world.faults().rot_on_read)) {
      const std::uint64_t place = offset + world.random().below(into.size());
      world.trace(TraceKind::Fault, file.inode->id, place);
      DiskImage::flip_bit(*file.inode, place, static_cast<unsigned>(world.random().below(8)));
    }
    const std::size_t bytes = file.image.read(*file.inode, offset, into);
    world.trace(TraceKind::DiskRead, file.inode->id, bytes);
    return bytes;
  }

  // One change of the file: a power cut tears anywhere in it.
  static base::Result<std::vector<base::Buffer>> write(SimDisk& disk, OpenFile& file,
                                                       const std::string& path,
                                                       std::uint64_t offset,
                                                       std::vector<base::Buffer> pieces) {
    World& world = disk.world_;
    if (disk.fails(DiskOp::Write, world.faults().fail_write)) {
      return failed("cannot write", path, EIO);
    }
    std::vector<std::byte> joined;
    for (const base::Buffer& piece : pieces) {
      joined.insert(joined.end(), piece.view().begin(), piece.view().end());
    }
    const int error = file.image.write(*file.inode, offset, joined);
    if (error != 0) return failed("cannot write", path, error);
    world.trace(TraceKind::DiskWrite, file.inode->id, joined.size());
    return pieces;
  }

  static base::Result<void> sync(SimDisk& disk, OpenFile& file, const std::string& path,
                                 std::uint64_t number) {
    World& world = disk.world_;
    if (disk.fails(DiskOp::Sync, world.faults().fail_sync)) {
      DiskImage::forget_pending(*file.inode);
      return failed("cannot sync", path, EIO);
    }
    world.trace(TraceKind::DiskSync, file.inode->id, file.inode->pending.size());
    DiskImage::sync(*file.inode, number);
    return {};
  }

  SimDisk& disk_;
  std::shared_ptr<OpenFile> file_;
  std::string path_;
  OpenOptions options_;
};

SimDisk::SimDisk(World& world, NodeId node, DiskOptions options)
    : world_(world), node_(node), options_(options), image_(options.capacity_bytes) {}

Task<base::Result<std::unique_ptr<File>>> SimDisk::open(std::string path, OpenOptions options) {
  using Opened = std::unique_ptr<File>;
  auto effect = [this, path, options]() -> base::Result<Opened> {
    if (fails(DiskOp::Name, world_.faults().fail_name)) return failed("cannot open", path, EIO);
    if (path == refused_open_.first) return failed("cannot open", path, refused_open_.second);
    DiskImage::InodePtr inode;
    const int error = image_.open(path, options.mode, inode);
    if (error != 0) return failed("cannot open", path, error);
    world_.trace(TraceKind::DiskName, inode->id, static_cast<std::uint64_t>(options.mode));
    auto file = std::make_shared<OpenFile>(*this, image_, std::move(inode), power_.cuts);
    return std::make_unique<SimFile>(*this, std::move(file), path, options);
  };
  base::Result<Opened> result =
      co_await perform<Opened>(options_.name_takes, "cannot open", path, std::move(effect));
  co_return result;
}

Task<base::Result<void>> SimDisk::change_names(std::string what, std::string path,
                                               std::move_only_function<int()> effect) {
  auto checked = [this, what, path, run = std::move(effect)]() mutable -> base::Result<void> {
    const int error = fails(DiskOp::Name, world_.faults().fail_name) ? EIO : run();
    if (error != 0) return failed(what, path, error);
    world_.trace(TraceKind::DiskName, node_, what.size());
    return {};
  };
  base::Result<void> result =
      co_await perform<void>(options_.name_takes, what, path, std::move(checked));
  co_return result;
}

Task<base::Result<void>> SimDisk::make_directory(std::string path) {
  return change_names("cannot make directory", path,
                      [this, path] { return image_.make_directory(path); });
}

Task<base::Result<std::vector<DirectoryEntry>>> SimDisk::list(std::string path) {
  using Entries = std::vector<DirectoryEntry>;
  auto effect = [this, path]() -> base::Result<Entries> {
    Entries entries;
    const int error =
        fails(DiskOp::Name, world_.faults().fail_name) ? EIO : image_.list(path, entries);
    if (error != 0) return failed("cannot list", path, error);
    return entries;
  };
  base::Result<Entries> result =
      co_await perform<Entries>(options_.name_takes, "cannot list", path, std::move(effect));
  co_return result;
}

Task<base::Result<FileVersion>> SimDisk::version(std::string path) {
  auto effect = [this, path]() -> base::Result<FileVersion> {
    FileVersion version;
    const int error =
        fails(DiskOp::Name, world_.faults().fail_name) ? EIO : image_.version(path, version);
    if (error != 0) return failed("cannot look at", path, error);
    return version;
  };
  base::Result<FileVersion> result =
      co_await perform<FileVersion>(options_.name_takes, "cannot look at", path, std::move(effect));
  co_return result;
}

Task<base::Result<void>> SimDisk::rename(std::string from, std::string to) {
  return change_names("cannot rename", from, [this, from, to] { return image_.rename(from, to); });
}

Task<base::Result<void>> SimDisk::link(std::string from, std::string to) {
  return change_names("cannot link", from, [this, from, to] { return image_.link(from, to); });
}

Task<base::Result<void>> SimDisk::remove(std::string path) {
  return change_names("cannot remove", path, [this, path] {
    return path == refused_removal_.first ? refused_removal_.second : image_.remove(path);
  });
}

Task<base::Result<void>> SimDisk::sync_directory(std::string path) {
  auto effect = [this, path]() -> base::Result<void> {
    const int error =
        fails(DiskOp::Sync, world_.faults().fail_sync) ? EIO : image_.sync_directory(path);
    if (error != 0) return failed("cannot sync directory", path, error);
    world_.trace(TraceKind::DiskSync, node_);
    return {};
  };
  base::Result<void> result =
      co_await perform<void>(sync_time(), "cannot sync directory", path, std::move(effect));
  co_return result;
}

Task<base::Result<std::uint64_t>> SimDisk::free_bytes(std::string path) {
  auto effect = [this]() -> base::Result<std::uint64_t> {
    return image_.capacity() - std::min(image_.capacity(), image_.used());
  };
  base::Result<std::uint64_t> result = co_await perform<std::uint64_t>(
      options_.name_takes, "cannot ask for free space of", path, std::move(effect));
  co_return result;
}

void SimDisk::power_cut() {
  power_.cut();
  const std::uint64_t damaged = image_.power_cut(world_.random());
  lost_changes_ += damaged;
  world_.trace(TraceKind::DiskLost, node_, damaged);
}

void SimDisk::fail_next(DiskOp op, std::uint32_t count) noexcept {
  fail_next_[static_cast<std::size_t>(op)] = count;
}

bool SimDisk::flip_bit(std::string_view path, std::uint64_t offset, unsigned bit) {
  return image_.flip_bit(path, offset, bit) == 0;
}

bool SimDisk::break_sector(std::string_view path, std::uint64_t offset) {
  return image_.break_sector(path, offset) == 0;
}

bool SimDisk::mend_sectors(std::string_view path) { return image_.mend_sectors(path) == 0; }

}  // namespace ron::platform::sim
