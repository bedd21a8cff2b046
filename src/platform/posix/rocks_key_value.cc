#include "platform/posix/rocks_key_value.h"

#include <cerrno>
#include <charconv>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "platform/disk_error.h"
#include "platform/posix/files.h"
#include "platform/posix/names.h"
#include "platform/posix/rocks_options.h"
#include "platform/wait.h"

namespace ron::platform::posix {
namespace {

using namespace std::chrono_literals;
using rocksdb::Slice;
using rocksdb::Status;

constexpr auto kAskAgain = 2ms;  // between two tries at a path in use
constexpr auto kPatience = 10s;  // then StorageBusy
constexpr std::size_t kNoteBytes = 32;

// Only a scan has a loop of ours; the others are calls that RocksDB cannot be asked to leave.
constexpr BlockingKind kMapGet{"map_get", 10s};
constexpr BlockingKind kMapScan{"map_scan", 60s};
constexpr BlockingKind kMapWrite{"map_write", 60s};
constexpr BlockingKind kMapFlush{"map_flush", 60s};
constexpr BlockingKind kMapOpen{"map_open", 300s};
constexpr BlockingKind kMapDestroy{"map_destroy", 60s};

Task<void> pause() {
  Parker parker;
  co_await parker.park(parker.executor().now() + kAskAgain);
}

TimePoint patience_ends() { return Executor::current()->now() + kPatience; }
bool past(TimePoint moment) { return Executor::current()->now() >= moment; }

base::Error pool_stuck() { return {base::Code::StorageBusy, "the blocking pool is stuck"}; }

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

// The paths that are in use: by an open map, or by an opening, closing or removal that will soon be
// over. Any thread.
class OpenPaths {
 public:
  enum class State : std::uint8_t { Free, Open, Changing };

  // Takes the path if it is free; otherwise says what it is.
  State take(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto [place, taken] = states_.try_emplace(path, State::Changing);
    return taken ? State::Free : place->second;
  }
  void set(const std::string& path, State state) {
    const std::lock_guard lock(mutex_);
    states_[path] = state;
  }
  void release(const std::string& path) {
    const std::lock_guard lock(mutex_);
    states_.erase(path);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, State> states_;  // guarded by mutex_
};

namespace {

// Holds a path in OpenPaths until it goes.
class PathHold {
 public:
  PathHold(std::shared_ptr<OpenPaths> paths, std::string path)
      : paths_(std::move(paths)), path_(std::move(path)) {}
  PathHold(const PathHold&) = delete;
  PathHold& operator=(const PathHold&) = delete;
  ~PathHold() { paths_->release(path_); }

  void set(OpenPaths::State state) { paths_->set(path_, state); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::shared_ptr<OpenPaths> paths_;
  std::string path_;
};

// An open database; operations under way share it. The path is free once it is closed.
struct Database {
  std::shared_ptr<PathHold> hold;  // goes last
  std::shared_ptr<rocksdb::Cache> cache;
  std::unique_ptr<rocksdb::DB> db;
  std::mutex mutex = {};
  std::uint64_t flushed = 0;  // guarded by mutex: what the note says

  // Writes down how far the map is durable. RocksDB takes a damaged end of its manifest for one
  // that was never finished and falls back to an older map; the note tells.
  base::Result<void> note_flushed(std::uint64_t sequence) {
    const std::lock_guard lock(mutex);
    if (sequence <= flushed) return {};
    base::Result<void> written = write_private_file(note_path(), std::to_string(sequence));
    if (written) flushed = sequence;
    return written;
  }
  // False when the map is older than its note says, or the note is damaged.
  bool read_note() {
    const base::Result<std::string> text = read_small_file(note_path(), kNoteBytes);
    if (!text) return text.error().code == base::Code::NotFound;
    const char* const end = text->data() + text->size();
    const auto [parsed, error] = std::from_chars(text->data(), end, flushed);
    return error == std::errc() && parsed == end && db->GetLatestSequenceNumber() >= flushed;
  }
  [[nodiscard]] std::string note_path() const { return hold->path() + "/FLUSHED"; }
  [[nodiscard]] base::Error error(const Status& status) const {
    return rocks_error(hold->path(), status);
  }
};
using DatabasePtr = std::shared_ptr<Database>;

// A failed flush or compaction stops all writes until the database is told to go on, which works
// once the reason is gone. After a full disk it goes on by itself, some seconds after there is
// room.
Status write_waiting(rocksdb::DB& db, rocksdb::WriteBatch& changes) {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  Status first = db.Write(options, &changes);
  if (first.ok() || first.IsCorruption() || !db.Resume().ok()) return first;
  return db.Write(options, &changes);
}

base::Result<void> flush_waiting(Database& database) {
  const std::uint64_t sequence = database.db->GetLatestSequenceNumber();
  rocksdb::FlushOptions options;
  options.wait = true;
  options.allow_write_stall = true;
  Status status = database.db->Flush(options);
  if (!status.ok() && !status.IsCorruption() && database.db->Resume().ok()) {
    status = database.db->Flush(options);
  }
  if (!status.ok()) return base::fail(database.error(status));
  return database.note_flushed(sequence);
}

base::Result<std::vector<KeyValuePair>> scan_waiting(const Database& database,
                                                     const std::string& from,
                                                     const std::string& until, std::size_t limit,
                                                     const base::StopToken& stop) {
  const Slice end(until);
  rocksdb::ReadOptions options;
  options.fill_cache = false;  // one pass over the map must not push out what lookups need
  if (!until.empty()) options.iterate_upper_bound = &end;
  std::vector<KeyValuePair> pairs;
  const std::unique_ptr<rocksdb::Iterator> at(database.db->NewIterator(options));
  for (at->Seek(from); pairs.size() < limit && at->Valid(); at->Next()) {
    if (stop.requested()) return base::fail(stop.error());
    pairs.emplace_back(at->key().ToString(), at->value().ToString());
  }
  if (!at->status().ok()) return base::fail(database.error(at->status()));
  return pairs;
}

class RocksKeyValue final : public KeyValue {
 public:
  RocksKeyValue(BlockingPool& pool, DatabasePtr database)
      : pool_(pool), database_(std::move(database)) {
    database_->hold->set(OpenPaths::State::Open);
  }
  ~RocksKeyValue() override { database_->hold->set(OpenPaths::State::Changing); }

  base::Result<Found> try_get(std::string_view key, std::string& value) override {
    rocksdb::ReadOptions options;
    options.read_tier = rocksdb::kBlockCacheTier;
    rocksdb::PinnableSlice found;
    const Status status =
        database_->db->Get(options, database_->db->DefaultColumnFamily(), to_slice(key), &found);
    if (status.IsNotFound()) return Found::No;
    if (status.IsIncomplete()) return Found::Unknown;
    if (!status.ok()) return base::fail(database_->error(status));
    value.assign(found.data(), found.size());
    return Found::Yes;
  }

  Task<base::Result<std::optional<std::string>>> get(std::string key) override {
    using Value = std::optional<std::string>;
    std::string value;
    const base::Result<Found> known = try_get(key, value);
    if (!known) co_return base::fail(known.error());
    if (*known == Found::Yes) co_return Value(std::move(value));
    if (*known == Found::No) co_return Value();
    auto look = [database = database_, wanted = std::move(key)]() -> base::Result<Value> {
      std::string found;
      const Status status = database->db->Get({}, wanted, &found);
      if (status.IsNotFound()) return Value();
      if (!status.ok()) return base::fail(database->error(status));
      return Value(std::move(found));
    };
    base::Result<base::Result<Value>> looked = co_await pool_.run(kMapGet, std::move(look));
    if (!looked) co_return base::fail(pool_stuck());
    co_return std::move(*looked);
  }

  Task<base::Result<std::vector<KeyValuePair>>> scan(std::string from, std::string until,
                                                     std::size_t limit) override {
    using Pairs = std::vector<KeyValuePair>;
    auto walk = [database = database_, first = std::move(from), end = std::move(until),
                 limit](const base::StopToken& stop) {
      return scan_waiting(*database, first, end, limit, stop);
    };
    base::Result<base::Result<Pairs>> walked = co_await pool_.run(kMapScan, std::move(walk));
    if (!walked) co_return base::fail(pool_stuck());
    co_return std::move(*walked);
  }

  Task<base::Result<void>> write(KeyValueBatch batch) override {
    rocksdb::WriteBatch changes;
    for (const KeyValueBatch::Change& change : batch.changes) {
      const Status added =
          change.value ? changes.Put(change.key, *change.value) : changes.Delete(change.key);
      if (!added.ok()) co_return base::fail(database_->error(added));
    }
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    options.no_slowdown = true;
    if (database_->db->Write(options, &changes).ok()) co_return base::Result<void>();
    // It would have to wait, or a background error is in the way: both are for the pool.
    auto again = [database = database_, kept = std::move(changes)]() mutable {
      return write_waiting(*database->db, kept);
    };
    base::Result<Status> written = co_await pool_.run(kMapWrite, std::move(again));
    if (!written) co_return base::fail(pool_stuck());
    if (!written->ok()) co_return base::fail(database_->error(*written));
    co_return base::Result<void>();
  }

  Task<base::Result<void>> flush() override {
    auto work = [database = database_] { return flush_waiting(*database); };
    base::Result<base::Result<void>> flushed = co_await pool_.run(kMapFlush, std::move(work));
    if (!flushed) co_return base::fail(pool_stuck());
    co_return std::move(*flushed);
  }

  [[nodiscard]] std::uint64_t memory_bytes() const override {
    std::uint64_t tables = 0;
    database_->db->GetIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &tables);
    return tables + database_->cache->GetUsage();
  }

 private:
  static Slice to_slice(std::string_view text) { return {text.data(), text.size()}; }

  BlockingPool& pool_;
  DatabasePtr database_;
};

base::Result<DatabasePtr> open_waiting(std::shared_ptr<PathHold> hold, KeyValueOptions options) {
  const std::string path = hold->path();
  int error = names::make_directory(path);
  if (error == 0) error = names::sync_directory(parent_of(path));
  if (error != 0) return base::fail(disk_error("cannot make directory", path, error));
  auto database = std::make_shared<Database>(std::move(hold), rocks_cache(options.cache_bytes));
  rocksdb::DB* opened = nullptr;
  const Status status = rocksdb::DB::Open(rocks_options(database->cache), path, &opened);
  database->db.reset(opened);
  if (status.ok() && database->read_note()) return database;
  if (status.ok()) {
    return base::fail(base::Code::IntegrityFail,
                      "key-value map '" + path + "' lacks what was flushed");
  }
  base::Error refused = database->error(status);
  // Settings in its own files that it cannot make sense of.
  if (status.IsInvalidArgument()) refused.code = base::Code::IntegrityFail;
  return base::fail(std::move(refused));
}

base::Result<void> destroy_waiting(const std::string& path) {
  const Status status = rocksdb::DestroyDB(path, rocks_options(rocks_cache(0)));
  if (!status.ok() && !status.IsPathNotFound()) return base::fail(rocks_error(path, status));
  // What a damaged map leaves behind under names that RocksDB does not know.
  std::vector<DirectoryEntry> left;
  int error = names::list(path, left);
  for (const DirectoryEntry& entry : left) {
    if (error == 0) error = names::remove(path + '/' + entry.name);
  }
  if (error == 0) error = names::remove(path);
  if (error != 0 && error != ENOENT) return base::fail(disk_error("cannot remove", path, error));
  return {};
}

}  // namespace

RocksKeyValues::RocksKeyValues(BlockingPool& pool)
    : pool_(pool), paths_(std::make_shared<OpenPaths>()) {}

RocksKeyValues::~RocksKeyValues() = default;

// False when the map at the path is open, or takes too long to close.
Task<bool> RocksKeyValues::reserve(std::string path) {
  const TimePoint end = patience_ends();
  for (;;) {
    const OpenPaths::State state = paths_->take(path);
    if (state == OpenPaths::State::Free) co_return true;
    if (state == OpenPaths::State::Open || past(end)) co_return false;
    co_await pause();
  }
}

Task<base::Result<std::unique_ptr<KeyValue>>> RocksKeyValues::open(std::string path,
                                                                   KeyValueOptions options) {
  const bool reserved = co_await reserve(path);
  if (!reserved) {
    co_return base::fail(base::Code::StorageBusy, "key-value map '" + path + "' is open");
  }
  auto hold = std::make_shared<PathHold>(paths_, path);
  auto work = [held = std::move(hold), options] { return open_waiting(held, options); };
  base::Result<base::Result<DatabasePtr>> opened = co_await pool_.run(kMapOpen, std::move(work));
  if (!opened) co_return base::fail(pool_stuck());
  if (!*opened) co_return base::fail((*opened).error());
  co_return std::make_unique<RocksKeyValue>(pool_, std::move(**opened));
}

Task<base::Result<void>> RocksKeyValues::destroy(std::string path) {
  const bool reserved = co_await reserve(path);
  if (!reserved) {
    co_return base::fail(base::Code::StorageBusy, "key-value map '" + path + "' is open");
  }
  auto hold = std::make_shared<PathHold>(paths_, path);
  auto work = [held = std::move(hold)] { return destroy_waiting(held->path()); };
  base::Result<base::Result<void>> destroyed = co_await pool_.run(kMapDestroy, std::move(work));
  if (!destroyed) co_return base::fail(pool_stuck());
  co_return std::move(*destroyed);
}

}  // namespace ron::platform::posix
