// Disk: files as a store needs them. Directories are made 0700 and files 0600; a symbolic link is
// never followed where a path ends. Every call awaits; none blocks the executor.
//
// Durability is explicit: bytes survive a power cut after File::sync, names after
// Disk::sync_directory. The simulated disk loses or tears everything else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "platform/task.h"

namespace ron::platform {

enum class OpenMode : std::uint8_t { ReadExisting, WriteExisting, CreateNew, CreateOrOpen };

struct OpenOptions {
  OpenMode mode = OpenMode::ReadExisting;
  bool direct = false;  // bypass the page cache where the file system allows it
};

enum class FileLock : std::uint8_t { Shared, Exclusive };

// Buffers are owned by the call while it runs and come back with its result, so an aborted caller
// can never leave the kernel writing into freed memory. Errors: StorageFull (no room), NotFound,
// StorageBusy (I/O error), PreconditionFailed (the name is taken), Internal. Cancel-safe: yes, but
// an aborted write may or may not happen, even later. Any executor of the host may use a file. A
// direct file wants offsets and lengths in multiples of base::Buffer::kPageBytes.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  // Fills the buffer from `offset`; the buffer comes back shorter only at the end of the file.
  virtual Task<base::Result<base::Buffer>> read_at(std::uint64_t offset, base::Buffer into) = 0;
  // Fills `into` if memory alone can: how many bytes there are, fewer only at the end of the file.
  // None when the disk would have to be asked, for direct files, and for whatever read_at would
  // report. Never waits.
  virtual std::optional<std::size_t> try_read_at(std::uint64_t offset,
                                                 base::MutableBytes into) noexcept = 0;
  // read_at for a thread that may wait itself, one of the blocking pool: how many bytes there are,
  // fewer only at the end of the file. Not for direct files. A disk that has no such call hands out
  // what is in memory and is StorageBusy otherwise.
  virtual base::Result<std::size_t> read_blocking(std::uint64_t offset, base::MutableBytes into);
  // Writes all of the buffer or fails.
  Task<base::Result<base::Buffer>> write_at(std::uint64_t offset, base::Buffer bytes);
  // Writes all of the pieces, one behind the other, or fails; after a failure any part of them may
  // have been written.
  virtual Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t offset, std::vector<base::Buffer> pieces) = 0;
  // Data and the size needed to read it back are on the medium when this returns.
  virtual Task<base::Result<void>> sync() = 0;
  virtual Task<base::Result<std::uint64_t>> size() = 0;
  virtual Task<base::Result<void>> truncate(std::uint64_t length) = 0;
  // Claims the file until it is closed. False when an open file here or in another process has a
  // claim that does not allow this one. Keeps out claims only, not reads or writes; a process that
  // dies loses its own. Never waits.
  virtual base::Result<bool> try_lock(FileLock lock) = 0;
};

struct DirectoryEntry {
  std::string name;
  bool is_directory = false;
};

// What a file system says of a file without reading it. One that is changed or replaced has another
// version, as far as its clock can tell.
struct FileVersion {
  std::uint64_t file = 0;  // the same whatever its name is; another one has another
  std::uint64_t bytes = 0;
  std::int64_t changed = 0;  // of its contents; means nothing but by comparison
  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};

class Disk {
 public:
  Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  virtual ~Disk() = default;

  virtual Task<base::Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) = 0;
  virtual Task<base::Result<void>> make_directory(std::string path) = 0;  // fine if it is there
  virtual Task<base::Result<std::vector<DirectoryEntry>>> list(std::string path) = 0;
  // Of a file; of a directory or a link it is an error, as opening one is.
  virtual Task<base::Result<FileVersion>> version(std::string path) = 0;
  virtual Task<base::Result<void>> rename(std::string from, std::string to) = 0;
  // Another name for the same file; never in place of one that is there.
  virtual Task<base::Result<void>> link(std::string from, std::string to) = 0;
  virtual Task<base::Result<void>> remove(std::string path) = 0;
  virtual Task<base::Result<void>> sync_directory(std::string path) = 0;
  virtual Task<base::Result<std::uint64_t>> free_bytes(std::string path) = 0;
};

}  // namespace ron::platform
