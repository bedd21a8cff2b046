// UploadTable: the open uploads this process has dealt with, so that a part need not ask the
// volumes what they know of its upload.
//
// Any thread. Bounded: when it is full, further uploads are asked for on their volume each time.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/lock.h"
#include "services/storage/quota.h"
#include "volume/volume.h"

namespace ron::storage {

// An upload and the volume it is on. A copy is of one moment.
struct OpenUpload {
  volume::Volume* volume = nullptr;
  volume::Upload upload;
};

class UploadTable {
 public:
  explicit UploadTable(std::uint64_t max_open);
  UploadTable(const UploadTable&) = delete;
  UploadTable& operator=(const UploadTable&) = delete;

  // Nothing when it is not known here, or has expired.
  [[nodiscard]] std::optional<OpenUpload> find(const volume::UploadId& id, std::int64_t now_unix_s);
  // The reservation is held until the upload leaves the table.
  void add(OpenUpload upload, Quotas::Reservation reservation, std::int64_t now_unix_s);
  void drop(const volume::UploadId& id);
  // Lets go of the reservations of those that have expired. Quick when there are none.
  void drop_expired(std::int64_t now_unix_s);
  void set_max_open(std::uint64_t max_open) noexcept {
    max_open_.store(max_open, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t max_open() const noexcept {
    return max_open_.load(std::memory_order_relaxed);
  }

 private:
  struct Entry {
    OpenUpload open;
    Quotas::Reservation reservation;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;  // by the text of their ids

  void erase_expired(std::int64_t now_unix_s);  // under the lock

  std::atomic<std::uint64_t> max_open_;
  std::atomic<std::int64_t> first_expiry_s_ = INT64_MAX;  // at the earliest; changed under the lock
  mutable runtime::Lock lock_;
  Entries entries_;  // guarded by lock_
};

}  // namespace ron::storage
