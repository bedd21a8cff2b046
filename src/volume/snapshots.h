// Snapshots: copies of a data directory as of one moment, made of hard links while it is in use.
//
//   <dir>/snapshots/<name>/VOLUME                   a copy: who uses the one claims only that one
//   <dir>/snapshots/<name>/segments/0000000001.seg  links, and one file of its own
//
// The writer links between two batches, so that nothing is appended and no segment dropped
// meanwhile, and then goes on in a new segment: whatever was acknowledged before is in the
// snapshot, and what is shared changes no more. The file of its own is a last segment without
// records. Its head closes the log where it ended, so that a start on the snapshot neither takes
// more for part of the log nor writes to what it shares with the volume.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/mpsc.h"
#include "volume/commands.h"
#include "volume/state.h"
#include "volume/volume.h"

namespace ron::volume {

// A lower-case letter or a digit, then up to 62 of those, '.', '_' and '-'.
[[nodiscard]] bool valid_snapshot_name(std::string_view name) noexcept;

// So many of one data directory are made, each of which keeps what it refers to from being freed.
// They are listed on one page.
inline constexpr std::size_t kMostSnapshots = 1000;

// Any executor; one operation at a time, others are told Busy. State and channel outlive it.
class Snapshots {
 public:
  Snapshots(VolumeState* state, runtime::Mpsc<Command>* commands)
      : state_(state), commands_(commands) {}
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  // Malformed: not a name; PreconditionFailed: it is taken; Quota: there are kMostSnapshots;
  // Degraded: the index is being made anew.
  // Cancel-safe, as the others: the next operation removes what is unfinished.
  platform::Task<base::Result<Snapshot>> make(std::string name);
  // NotFound; PreconditionFailed while a process uses it.
  platform::Task<base::Result<void>> remove(std::string name);
  // By name.
  platform::Task<base::Result<std::vector<Snapshot>>> list();

 private:
  [[nodiscard]] std::string path_of(std::string_view name) const {
    return root() + "/" + std::string(name);
  }
  [[nodiscard]] std::string root() const { return state_->options().directory + "/snapshots"; }
  // A name no snapshot has, for what is being made or removed.
  [[nodiscard]] std::string unfinished_path() const;

  platform::Task<base::Result<std::vector<std::string>>> names();
  platform::Task<void> remove_unfinished();
  platform::Task<base::Result<void>> fill(std::string path);
  platform::Task<base::Result<void>> copy_identity(std::string into);
  platform::Task<base::Result<Snapshot>> measure(std::string name);

  VolumeState* state_;
  runtime::Mpsc<Command>* commands_;
  std::atomic<bool> busy_ = false;
};

}  // namespace ron::volume
