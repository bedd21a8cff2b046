// PlantedDisk: the disk of the simulated machine as a registry with a mistake would use it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/disk.h"
#include "sim/registry/plant.h"

namespace ron::sim {

// The disk below outlives it.
class PlantedDisk final : public platform::Disk {
 public:
  PlantedDisk(platform::Disk& disk, RegistryPlant plant) : disk_(disk), plant_(plant) {}

  // A process begins.
  void next_life() noexcept { ++life_; }

  platform::Task<base::Result<std::unique_ptr<platform::File>>> open(
      std::string path, platform::OpenOptions options) override;
  platform::Task<base::Result<void>> make_directory(std::string path) override {
    return disk_.make_directory(place_of(std::move(path)));
  }
  platform::Task<base::Result<std::vector<platform::DirectoryEntry>>> list(
      std::string path) override {
    return disk_.list(place_of(std::move(path)));
  }
  platform::Task<base::Result<void>> rename(std::string from, std::string to) override {
    return disk_.rename(place_of(std::move(from)), place_of(std::move(to)));
  }
  platform::Task<base::Result<void>> link(std::string from, std::string to) override {
    return disk_.link(place_of(std::move(from)), place_of(std::move(to)));
  }
  platform::Task<base::Result<void>> remove(std::string path) override;
  platform::Task<base::Result<void>> sync_directory(std::string path) override {
    return disk_.sync_directory(place_of(std::move(path)));
  }
  platform::Task<base::Result<platform::FileVersion>> version(std::string path) override {
    return disk_.version(place_of(std::move(path)));
  }
  platform::Task<base::Result<std::uint64_t>> free_bytes(std::string path) override {
    return disk_.free_bytes(std::move(path));
  }

 private:
  // With a lost journal every life has one of its own.
  [[nodiscard]] std::string place_of(std::string path) const;

  platform::Disk& disk_;
  const RegistryPlant plant_;
  unsigned life_ = 0;
};

}  // namespace ron::sim
