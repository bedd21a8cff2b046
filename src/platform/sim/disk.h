// SimDisk: the Disk of one simulated node. Operations take virtual time and take effect at some
// moment within it, also when their caller has been aborted, as a kernel's do.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/units.h"
#include "platform/disk.h"
#include "platform/sim/disk_image.h"
#include "platform/sim/faults.h"
#include "platform/sim/network.h"
#include "platform/sim/power.h"

namespace ron::platform::sim {

struct DiskOptions {
  std::uint64_t capacity_bytes = 1 * base::kGiB;
  // Each takes between one and two times this long.
  Duration read_takes = std::chrono::microseconds(80);
  Duration write_takes = std::chrono::microseconds(30);
  Duration sync_takes = std::chrono::microseconds(500);
  Duration name_takes = std::chrono::microseconds(50);
};

enum class DiskOp : std::uint8_t { Read, Write, Sync, Name };
inline constexpr std::size_t kDiskOps = 4;

class SimDisk final : public Disk {
 public:
  SimDisk(World& world, NodeId node, DiskOptions options);

  Task<base::Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) override;
  Task<base::Result<void>> make_directory(std::string path) override;
  Task<base::Result<std::vector<DirectoryEntry>>> list(std::string path) override;
  Task<base::Result<FileVersion>> version(std::string path) override;
  Task<base::Result<void>> rename(std::string from, std::string to) override;
  Task<base::Result<void>> link(std::string from, std::string to) override;
  Task<base::Result<void>> remove(std::string path) override;
  Task<base::Result<void>> sync_directory(std::string path) override;
  Task<base::Result<std::uint64_t>> free_bytes(std::string path) override;

  // What is not synced is kept, lost or torn by seed. Files opened before fail from now on, and
  // everything fails until restart().
  void power_cut();
  void restart() noexcept { power_.on = true; }

  // The next `count` operations of this kind fail with an I/O error.
  void fail_next(DiskOp op, std::uint32_t count = 1) noexcept;
  // Every operation of this kind on this path fails until it is told otherwise, with the errno.
  void refuse_open(std::string path, int error) { refused_open_ = {std::move(path), error}; }
  void refuse_removal(std::string path, int error) { refused_removal_ = {std::move(path), error}; }
  // False when there is no such byte.
  bool flip_bit(std::string_view path, std::uint64_t offset, unsigned bit);
  // Reads that touch the sector with this byte fail, until all of it is written again or the file's
  // sectors are mended. False when there is no such byte, or no such file.
  bool break_sector(std::string_view path, std::uint64_t offset);
  bool mend_sectors(std::string_view path);
  void set_capacity(std::uint64_t bytes) noexcept { image_.set_capacity(bytes); }
  [[nodiscard]] std::uint64_t power_cuts() const noexcept { return power_.cuts; }
  // Changes that power cuts did not leave whole.
  [[nodiscard]] std::uint64_t lost_changes() const noexcept { return lost_changes_; }
  [[nodiscard]] std::uint64_t used_bytes() const noexcept { return image_.used(); }

 private:
  friend class SimFile;
  template <class T>
  Task<base::Result<T>> perform(Duration takes, std::string what, std::string path,
                                std::move_only_function<base::Result<T>()> effect);
  Task<base::Result<void>> change_names(std::string what, std::string path,
                                        std::move_only_function<int()> effect);
  [[nodiscard]] bool told_to_fail(DiskOp op) const noexcept {
    return fail_next_[static_cast<std::size_t>(op)] != 0;
  }
  [[nodiscard]] bool fails(DiskOp op, PerMillion rate);
  [[nodiscard]] Duration sync_time();

  World& world_;
  NodeId node_;
  DiskOptions options_;
  DiskImage image_;
  Power power_;
  std::uint64_t lost_changes_ = 0;
  std::array<std::uint32_t, kDiskOps> fail_next_{};
  std::pair<std::string, int> refused_open_;
  std::pair<std::string, int> refused_removal_;
};

}  // namespace ron::platform::sim
