#include "pack/sqlite_files.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "b3/geometry.h"

namespace ron::pack {
namespace {

// An open file, in memory that SQLite provides.
struct OpenFile {
  sqlite3_file base;
  SqliteFiles* files;
};

SqliteFiles& files_of(sqlite3_file* file) noexcept {
  return *reinterpret_cast<OpenFile*>(file)->files;
}

int close_file(sqlite3_file*) noexcept { return SQLITE_OK; }
int read_file(sqlite3_file* file, void* into, int bytes, sqlite3_int64 offset) noexcept {
  return files_of(file).read(static_cast<std::uint64_t>(offset),
                             {static_cast<std::byte*>(into), static_cast<std::size_t>(bytes)});
}
int refuse_write(sqlite3_file*, const void*, int, sqlite3_int64) noexcept {
  return SQLITE_READONLY;
}
int refuse_truncate(sqlite3_file*, sqlite3_int64) noexcept { return SQLITE_READONLY; }
int sync_file(sqlite3_file*, int) noexcept { return SQLITE_OK; }
int file_size(sqlite3_file* file, sqlite3_int64* out) noexcept {
  *out = static_cast<sqlite3_int64>(files_of(file).source->size());
  return SQLITE_OK;
}
// Nobody else is there to be kept out: what was verified does not change.
int lock_file(sqlite3_file*, int) noexcept { return SQLITE_OK; }
int check_lock(sqlite3_file*, int* out) noexcept {
  *out = 0;
  return SQLITE_OK;
}
int control_file(sqlite3_file*, int, void*) noexcept { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) noexcept { return 0; }
int characteristics(sqlite3_file*) noexcept { return SQLITE_IOCAP_IMMUTABLE; }

constexpr sqlite3_io_methods kMethods = {.iVersion = 1,
                                         .xClose = close_file,
                                         .xRead = read_file,
                                         .xWrite = refuse_write,
                                         .xTruncate = refuse_truncate,
                                         .xSync = sync_file,
                                         .xFileSize = file_size,
                                         .xLock = lock_file,
                                         .xUnlock = lock_file,
                                         .xCheckReservedLock = check_lock,
                                         .xFileControl = control_file,
                                         .xSectorSize = sector_size,
                                         .xDeviceCharacteristics = characteristics,
                                         .xShmMap = nullptr,
                                         .xShmLock = nullptr,
                                         .xShmBarrier = nullptr,
                                         .xShmUnmap = nullptr,
                                         .xFetch = nullptr,
                                         .xUnfetch = nullptr};

int open_file(sqlite3_vfs* vfs, const char*, sqlite3_file* out, int flags, int* opened) noexcept {
  auto* const file = reinterpret_cast<OpenFile*>(out);
  file->base.pMethods = nullptr;
  // No journals, no temporary files: what does not fit into memory fails.
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return SQLITE_CANTOPEN;
  file->files = static_cast<SqliteFiles*>(vfs->pAppData);
  file->base.pMethods = &kMethods;
  if (opened != nullptr) *opened = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
  return SQLITE_OK;
}
int refuse_delete(sqlite3_vfs*, const char*, int) noexcept { return SQLITE_READONLY; }
int nothing_there(sqlite3_vfs*, const char*, int, int* out) noexcept {
  *out = 0;
  return SQLITE_OK;
}
int full_name(sqlite3_vfs*, const char* name, int room, char* out) noexcept {
  sqlite3_snprintf(room, out, "%s", name);
  return SQLITE_OK;
}
// Functions of SQL that would use these are not allowed.
int fill_zero(sqlite3_vfs*, int bytes, char* out) noexcept {
  std::memset(out, 0, static_cast<std::size_t>(bytes));
  return bytes;
}
int sleep_not(sqlite3_vfs*, int) noexcept { return 0; }
int no_time(sqlite3_vfs*, double* out) noexcept {
  *out = 0;
  return SQLITE_OK;
}
int last_error(sqlite3_vfs*, int, char*) noexcept { return 0; }

}  // namespace

SqliteFiles::SqliteFiles(std::shared_ptr<Source> from) : source(std::move(from)) {
  static std::atomic<std::uint64_t> made{0};
  name = "ron-pack-" + std::to_string(++made);
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(OpenFile);
  vfs.mxPathname = 64;
  vfs.zName = name.c_str();
  vfs.pAppData = this;
  vfs.xOpen = open_file;
  vfs.xDelete = refuse_delete;
  vfs.xAccess = nothing_there;
  vfs.xFullPathname = full_name;
  vfs.xRandomness = fill_zero;
  vfs.xSleep = sleep_not;
  vfs.xCurrentTime = no_time;
  vfs.xGetLastError = last_error;
}

int SqliteFiles::load(Slot& slot, std::uint64_t group) {
  if (slot.group == group) return SQLITE_OK;
  slot.group.reset();
  const std::size_t bytes = b3::group_length(source->size(), group);
  if (slot.bytes.capacity() < bytes) slot.bytes = base::Buffer(b3::kGroupBytes);
  slot.bytes.resize(bytes);
  auto read = source->fill(b3::group_offset(group), slot.bytes.span());
  if (!read) {
    if (!failure) failure = std::move(read.error());
    return SQLITE_IOERR_READ;
  }
  slot.group = group;
  return SQLITE_OK;
}

int SqliteFiles::read(std::uint64_t offset, base::MutableBytes into) {
  while (!into.empty()) {
    if (offset >= source->size()) {
      std::memset(into.data(), 0, into.size());
      return SQLITE_IOERR_SHORT_READ;
    }
    const std::uint64_t group = offset / b3::kGroupBytes;
    Slot& slot = slots[group % slots.size()];
    if (const int code = load(slot, group); code != SQLITE_OK) return code;
    const auto skipped = static_cast<std::size_t>(offset - b3::group_offset(group));
    const std::size_t taken = std::min(into.size(), slot.bytes.size() - skipped);
    std::memcpy(into.data(), slot.bytes.data() + skipped, taken);
    into = into.subspan(taken);
    offset += taken;
  }
  return SQLITE_OK;
}

}  // namespace ron::pack
