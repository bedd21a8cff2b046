// How this project runs RocksDB, and what its answers mean here.
#pragma once

#include <memory>
#include <string_view>

#include <rocksdb/cache.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include "base/error.h"

namespace ron::platform::posix {

// No log of its own, bounded memory (the cache also holds indexes and filters), two background
// threads, private files.
rocksdb::Options rocks_options(const std::shared_ptr<rocksdb::Cache>& cache);
std::shared_ptr<rocksdb::Cache> rocks_cache(std::uint64_t bytes);

// IntegrityFail for damage and for files that are missing, StorageFull, StorageBusy for I/O errors
// and stalls, else Internal.
base::Error rocks_error(std::string_view path, const rocksdb::Status& status);

}  // namespace ron::platform::posix
