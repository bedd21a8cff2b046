// Inspector: checks a volume that nobody uses, without changing it: applies its segments to an
// index in memory, then reads all that counts and hashes it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "platform/host.h"
#include "platform/task.h"
#include "volume/map_key_value.h"
#include "volume/recovery.h"
#include "volume/state.h"

namespace ron::volume {

struct Inspection {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;    // of objects
  std::uint64_t damaged = 0;  // objects, parts of open uploads, and stretches without a record
};

// One task at a time, used once. Takes memory for an index entry of every object, upload, part and
// hold, some 300 bytes each.
class Inspector {
 public:
  struct Callbacks {
    // An address, or where in which segment, and what is wrong there.
    std::function<void(std::string_view what, std::string_view why)> on_damage;
    std::function<void(std::uint64_t bytes)> on_expected;  // so many more will be read
    std::function<void(std::uint64_t bytes)> on_read;
  };

  Inspector(platform::Host host, std::string directory, const runtime::LockDecl& lock_decl,
            Callbacks callbacks);
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  // True if the directory looks like a volume's. Cancel-safe.
  static platform::Task<base::Result<bool>> is_volume(platform::Disk* disk, std::string directory);

  // PreconditionFailed while a server has the volume; errors of the disk. Cancel-safe.
  platform::Task<base::Result<Inspection>> run();

 private:
  platform::Task<base::Result<void>> check_segment(SegmentPtr segment, std::uint64_t end);
  static platform::Task<base::Result<bool>> is_padding(SegmentPtr segment, std::uint64_t begin,
                                                       std::uint64_t end);
  platform::Task<base::Result<void>> check_record(SegmentScanner* scanner,
                                                  const FoundRecord* found);
  platform::Task<base::Result<void>> check_compositions();
  platform::Task<base::Result<std::string>> owner_of(const Record* record);
  void damage(const std::string& what, std::string_view why);

  VolumeState state_;
  Recovery recovery_;
  MapKeyValue index_;
  Ledger ledger_;
  const Callbacks callbacks_;
  std::set<std::string> damaged_;  // what was reported
  Inspection result_;
};

}  // namespace ron::volume
