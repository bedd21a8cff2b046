// VolumeState: what the parts of a volume share: the index, the open segments, the ledger, health.
//
// Any thread; every method takes the one lock for a moment. The writer alone changes the ledger
// (or a rebuild, while the writer is paused), so the writer may read it without the lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/host.h"
#include "runtime/lock.h"
#include "volume/index.h"
#include "volume/options.h"
#include "volume/segment.h"
#include "volume/volume.h"

namespace ron::volume {

using IndexPtr = std::shared_ptr<platform::KeyValue>;

class VolumeState {
 public:
  VolumeState(platform::Host host, Options options, const runtime::LockDecl& lock_decl);
  VolumeState(const VolumeState&) = delete;
  VolumeState& operator=(const VolumeState&) = delete;

  [[nodiscard]] const platform::Host& host() const noexcept { return host_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] Tuning tuning() const;
  void set_tuning(const Tuning& tuning);
  [[nodiscard]] std::string segments_path() const {
    return options_.directory + "/" + std::string(kSegmentsName);
  }
  [[nodiscard]] std::string segment_path(std::uint64_t segment) const {
    return segments_path() + "/" + segment_name(segment);
  }
  [[nodiscard]] std::string index_path(std::uint64_t generation) const {
    return options_.directory + "/index." + std::to_string(generation);
  }

  // Set once by the start, before anything else runs.
  Identity identity;
  std::shared_ptr<platform::File> claim;  // the file VOLUME, locked against other processes

  [[nodiscard]] IndexPtr index() const;
  // A new index and what it comes to.
  void set_index(IndexPtr index, std::uint64_t generation, Ledger ledger);
  void close_index();
  [[nodiscard]] std::uint64_t generation() const;

  [[nodiscard]] SegmentPtr segment(std::uint64_t number) const;
  [[nodiscard]] std::vector<SegmentPtr> segments() const;
  void add_segment(SegmentPtr segment);
  void remove_segment(std::uint64_t number);
  [[nodiscard]] bool any_segment_in(std::uint64_t first, std::uint64_t last,
                                    std::uint64_t but) const;

  // The writer's view; everyone else takes a copy of what they need.
  [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }
  void commit(const Draft& draft);
  [[nodiscard]] std::map<std::uint64_t, SegmentEntry> segment_entries() const;
  [[nodiscard]] Usage usage(std::string_view tenant) const;
  [[nodiscard]] TenantUsage tenants(std::size_t most) const;
  [[nodiscard]] bool quarantined(const base::ObjectId& id) const;
  [[nodiscard]] VolumeStats stats() const;

  [[nodiscard]] VolumeHealth health() const;
  void set_readable(bool readable);
  // An empty reason means writable.
  void set_write_trouble(std::string reason);
  // Look-ups may miss objects, writes are refused.
  [[nodiscard]] bool recovering() const noexcept {
    return !readable_.load(std::memory_order_acquire);
  }
  // The index failed in a way that only a new one mends; the recoverer looks for this.
  void report_damaged_index() noexcept {
    index_damaged_.store(true, std::memory_order_release);
    set_readable(false);
  }
  [[nodiscard]] bool index_damaged() const noexcept {
    return index_damaged_.load(std::memory_order_acquire);
  }
  // Segments that the index knows nothing of cannot be opened: look-ups may miss objects.
  void set_incomplete(bool incomplete) noexcept {
    incomplete_.store(incomplete, std::memory_order_release);
  }
  [[nodiscard]] bool incomplete() const noexcept {
    return incomplete_.load(std::memory_order_acquire);
  }
  void clear_damaged_index() noexcept { index_damaged_.store(false, std::memory_order_release); }

  // What a client is told of a failure of the medium: numbers and no file names. The owner gets all
  // of it.
  base::Error for_client(const base::Error& error);
  void report_trouble(const base::Error& error);

  std::atomic<std::uint64_t> free_bytes = 0;  // as last measured, less what was written
  std::atomic<std::uint64_t> failed_writes =
      0;  // batches that could not be written, since the start
  // Of segments, that could not be read when they were applied to the index.
  std::atomic<std::uint64_t> unreadable_bytes = 0;
  // Called by whoever finds damage, on their executor.
  std::function<void(const base::ObjectId&, std::uint64_t group)> on_corrupt;
  // Called by whoever the medium fails, on their executor.
  std::function<void(std::string_view text)> on_trouble;

 private:
  const platform::Host host_;
  const Options options_;
  std::atomic<bool> readable_ = false;
  std::atomic<bool> index_damaged_ = false;
  std::atomic<bool> incomplete_ = false;
  std::atomic<std::uint64_t> quarantined_ = 0;

  mutable runtime::Lock lock_;
  IndexPtr index_;  // guarded by lock_, as the rest
  std::uint64_t generation_ = 0;
  std::map<std::uint64_t, SegmentPtr> segments_;
  Ledger ledger_;
  std::string write_trouble_;
  Tuning tuning_;
};

}  // namespace ron::volume
