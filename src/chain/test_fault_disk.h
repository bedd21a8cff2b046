// For the tests of this folder: a disk that fails, or loses power, at a chosen operation.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/disk.h"
#include "platform/disk_error.h"
#include "platform/sim/node.h"

namespace ron::chain {

enum class Fault : std::uint8_t {
  None,
  FailBefore,  // an error, and nothing has happened
  FailAfter,   // an error, although it has happened
  CutBefore,   // the power goes; what is not synced is kept, lost or torn by seed
  CutAfter,
};
inline constexpr Fault kFaults[] = {Fault::FailBefore, Fault::FailAfter, Fault::CutBefore,
                                    Fault::CutAfter};

// Passes everything on to the node's disk and counts what changes something there.
class FaultDisk final : public platform::Disk {
 public:
  explicit FaultDisk(platform::sim::Node& node) : node_(node) {}

  // The operation that comes after `others` more meets the fault.
  void arm(std::uint64_t others, Fault fault) {
    at_ = changes_ + others;
    fault_ = fault;
  }
  void disarm() { fault_ = Fault::None; }
  // Files pretend to be synced from now on.
  void ignore_syncs() { ignores_syncs_ = true; }
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  [[nodiscard]] bool has_struck() const { return has_struck_; }

  platform::Task<base::Result<std::unique_ptr<platform::File>>> open(
      std::string path, platform::OpenOptions options) override {
    auto file = co_await disk().open(std::move(path), options);
    if (!file) co_return file;
    co_return std::make_unique<FaultFile>(*this, std::move(*file));
  }
  platform::Task<base::Result<void>> make_directory(std::string path) override {
    return change(disk().make_directory(std::move(path)));
  }
  platform::Task<base::Result<std::vector<platform::DirectoryEntry>>> list(
      std::string path) override {
    return disk().list(std::move(path));
  }
  platform::Task<base::Result<void>> rename(std::string from, std::string to) override {
    return change(disk().rename(std::move(from), std::move(to)));
  }
  platform::Task<base::Result<void>> link(std::string from, std::string to) override {
    return change(disk().link(std::move(from), std::move(to)));
  }
  platform::Task<base::Result<void>> remove(std::string path) override {
    return change(disk().remove(std::move(path)));
  }
  platform::Task<base::Result<void>> sync_directory(std::string path) override {
    return change(disk().sync_directory(std::move(path)));
  }
  platform::Task<base::Result<platform::FileVersion>> version(std::string path) override {
    return disk().version(std::move(path));
  }
  platform::Task<base::Result<std::uint64_t>> free_bytes(std::string path) override {
    return disk().free_bytes(std::move(path));
  }

 private:
  using Pieces = std::vector<base::Buffer>;

  class FaultFile final : public platform::File {
   public:
    FaultFile(FaultDisk& disk, std::unique_ptr<platform::File> file)
        : disk_(disk), file_(std::move(file)) {}

    platform::Task<base::Result<base::Buffer>> read_at(std::uint64_t offset,
                                                       base::Buffer into) override {
      return file_->read_at(offset, std::move(into));
    }
    std::optional<std::size_t> try_read_at(std::uint64_t offset,
                                           base::MutableBytes into) noexcept override {
      return file_->try_read_at(offset, into);
    }
    platform::Task<base::Result<Pieces>> write_gather(std::uint64_t offset,
                                                      Pieces pieces) override {
      return disk_.change(file_->write_gather(offset, std::move(pieces)));
    }
    platform::Task<base::Result<void>> sync() override {
      if (disk_.ignores_syncs_) return nothing();
      return disk_.change(file_->sync());
    }
    platform::Task<base::Result<std::uint64_t>> size() override { return file_->size(); }
    platform::Task<base::Result<void>> truncate(std::uint64_t length) override {
      return disk_.change(file_->truncate(length));
    }
    base::Result<bool> try_lock(platform::FileLock lock) override { return file_->try_lock(lock); }

   private:
    static platform::Task<base::Result<void>> nothing() { co_return base::Result<void>(); }

    FaultDisk& disk_;
    std::unique_ptr<platform::File> file_;
  };

  platform::sim::SimDisk& disk() { return node_.disk(); }

  template <class T>
  platform::Task<base::Result<T>> change(platform::Task<base::Result<T>> operation) {
    const Fault fault = changes_++ == at_ ? fault_ : Fault::None;
    has_struck_ = has_struck_ || fault != Fault::None;
    if (fault == Fault::CutBefore) node_.power_cut();
    if (fault == Fault::FailBefore) co_return failure();
    auto result = co_await operation;
    if (fault == Fault::CutAfter) node_.power_cut();
    if (fault == Fault::FailAfter || fault == Fault::CutAfter) co_return failure();
    co_return result;
  }
  static std::unexpected<base::Error> failure() {
    return base::fail(platform::disk_error("cannot change", "a file", EIO));
  }

  platform::sim::Node& node_;
  std::uint64_t changes_ = 0;
  std::uint64_t at_ = UINT64_MAX;
  Fault fault_ = Fault::None;
  bool ignores_syncs_ = false;
  bool has_struck_ = false;
};

}  // namespace ron::chain
