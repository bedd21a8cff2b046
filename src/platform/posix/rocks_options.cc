#include "platform/posix/rocks_options.h"

#include <string>

#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "base/units.h"

namespace ron::platform::posix {
namespace {

constexpr std::uint64_t kWriteBufferBytes = 16 * base::kMiB;
constexpr int kWriteBuffers = 2;
constexpr double kWriteBufferFilterShare = 0.02;
constexpr int kOpenFiles = 256;
constexpr int kBackgroundJobs = 2;
constexpr double kFilterBitsPerKey = 10;
constexpr std::size_t kLogBytes = 256 * base::kKiB;
constexpr std::size_t kLogFiles = 2;

rocksdb::BlockBasedTableOptions table_options(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
  table.optimize_filters_for_memory = true;
  // Indexes and filters count against the cache, in pieces, so that a large map stays bounded
  // without one file's filter pushing everything else out.
  table.cache_index_and_filter_blocks = true;
  table.pin_top_level_index_and_filter = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.format_version = 5;
  return table;
}

base::Code code_of(const rocksdb::Status& status) {
  if (status.IsCorruption() || status.IsPathNotFound()) return base::Code::IntegrityFail;
  if (status.IsNoSpace()) return base::Code::StorageFull;
  if (status.IsIOError() || status.IsBusy() || status.IsIncomplete() || status.IsTryAgain() ||
      status.IsTimedOut()) {
    return base::Code::StorageBusy;
  }
  return base::Code::Internal;
}

}  // namespace

rocksdb::Options rocks_options(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(cache)));
  options.compression = rocksdb::kNoCompression;  // keys and most of the values are hashes
  options.write_buffer_size = kWriteBufferBytes;
  options.max_write_buffer_number = kWriteBuffers;
  // Most look-ups before a write are for keys that are not there.
  options.memtable_whole_key_filtering = true;
  options.memtable_prefix_bloom_size_ratio = kWriteBufferFilterShare;
  options.level_compaction_dynamic_level_bytes = true;
  options.max_open_files = kOpenFiles;
  options.max_background_jobs = kBackgroundJobs;
  options.paranoid_checks = true;
  options.avoid_flush_during_shutdown = true;  // flush() is what makes things durable
  options.avoid_unnecessary_blocking_io = true;
  options.skip_stats_update_on_db_open = true;
  options.info_log_level = rocksdb::ERROR_LEVEL;
  options.max_log_file_size = kLogBytes;
  options.keep_log_file_num = kLogFiles;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

std::shared_ptr<rocksdb::Cache> rocks_cache(std::uint64_t bytes) {
  return rocksdb::NewLRUCache(static_cast<std::size_t>(bytes));
}

base::Error rocks_error(std::string_view path, const rocksdb::Status& status) {
  return {code_of(status), "key-value map '" + std::string(path) + "': " + status.ToString()};
}

}  // namespace ron::platform::posix
