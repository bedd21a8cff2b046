// RocksKeyValues: key-value maps kept by RocksDB, one directory (0700, files 0600) per map.
//
// What memory holds is answered on the executor; whatever may wait for the disk runs on the
// blocking pool, and only a pool whose threads are stuck makes them fail with StorageBusy. An
// operation under way keeps its map open, also when the caller is gone; opening or destroying the
// same path waits for it.
//
// Destroying a map that was not flushed loses what a crash would lose. It waits for compactions to
// stop, a few milliseconds.
#pragma once

#include <memory>
#include <string>

#include "platform/blocking.h"
#include "platform/key_value.h"

namespace ron::platform::posix {

class OpenPaths;

class RocksKeyValues final : public KeyValues {
 public:
  explicit RocksKeyValues(BlockingPool& pool);
  ~RocksKeyValues() override;

  // StorageBusy while the map is open. The directory's parent must be there. Cancel-safe.
  Task<base::Result<std::unique_ptr<KeyValue>>> open(std::string path,
                                                     KeyValueOptions options) override;
  // Not cancel-safe: an aborted call may still remove the map.
  Task<base::Result<void>> destroy(std::string path) override;

 private:
  Task<bool> reserve(std::string path);

  BlockingPool& pool_;
  std::shared_ptr<OpenPaths> paths_;  // shared with open maps
};

}  // namespace ron::platform::posix
