// FaultyDisk: the disk of the simulated machine with something wrong about it: a write that throws,
// as a defect in the writer would, or syncs that do nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/disk.h"

namespace ron::sim {

// The disk below outlives it.
class FaultyDisk final : public platform::Disk {
 public:
  // `on_throw` is told of each write that throws, before it does.
  FaultyDisk(platform::Disk& disk, bool skips_sync, std::function<void()> on_throw)
      : disk_(disk), skips_sync_(skips_sync), on_throw_(std::move(on_throw)) {}

  // The next write to a segment throws.
  void arm() noexcept { armed_ = true; }
  void disarm() noexcept { armed_ = false; }

  platform::Task<base::Result<std::unique_ptr<platform::File>>> open(
      std::string path, platform::OpenOptions options) override;
  platform::Task<base::Result<void>> make_directory(std::string path) override {
    return disk_.make_directory(std::move(path));
  }
  platform::Task<base::Result<std::vector<platform::DirectoryEntry>>> list(
      std::string path) override {
    return disk_.list(std::move(path));
  }
  platform::Task<base::Result<void>> rename(std::string from, std::string to) override {
    return disk_.rename(std::move(from), std::move(to));
  }
  platform::Task<base::Result<void>> link(std::string from, std::string to) override {
    return disk_.link(std::move(from), std::move(to));
  }
  platform::Task<base::Result<void>> remove(std::string path) override {
    return disk_.remove(std::move(path));
  }
  platform::Task<base::Result<void>> sync_directory(std::string path) override {
    return disk_.sync_directory(std::move(path));
  }
  platform::Task<base::Result<platform::FileVersion>> version(std::string path) override {
    return disk_.version(std::move(path));
  }
  platform::Task<base::Result<std::uint64_t>> free_bytes(std::string path) override {
    return disk_.free_bytes(std::move(path));
  }

 private:
  class SegmentFile;
  void before_write();

  platform::Disk& disk_;
  const bool skips_sync_;
  const std::function<void()> on_throw_;
  bool armed_ = false;
};

}  // namespace ron::sim
