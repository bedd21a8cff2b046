#include "platform/memory_disk.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "platform/disk_error.h"
#include "platform/wait.h"

namespace ron::platform {
namespace {

constexpr std::uint64_t kLargestOffset = std::numeric_limits<std::int64_t>::max();

using Page = std::array<std::byte, MemoryDisk::kPageBytes>;

std::unexpected<base::Error> failed(std::string_view what, std::string_view path, int error) {
  return base::fail(disk_error(what, path, error));
}

base::Result<void> outcome_of(int error, std::string_view what, std::string_view path) {
  if (error != 0) return failed(what, path, error);
  return {};
}

constexpr std::uint64_t pages_of(std::uint64_t length) noexcept {
  return length / MemoryDisk::kPageBytes + (length % MemoryDisk::kPageBytes != 0 ? 1 : 0);
}

// The caller's core has done this much without waiting.
void spend(std::size_t bytes) noexcept { Executor::current()->spend(Executor::kItemBytes + bytes); }

bool turn_is_over() noexcept { return Executor::current()->turn_is_over(); }

}  // namespace

bool MemoryDisk::Quota::take(std::uint64_t bytes) noexcept {
  std::uint64_t used = used_.load();
  do {
    if (bytes > capacity_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

// A file or a directory. Its pages go back when the last name and the last handle are gone.
struct MemoryDisk::Inode {
  Inode(Quota& from, bool directory, std::uint64_t own_number)
      : is_directory(directory), number(own_number), quota(from) {}
  Inode(const Inode&) = delete;
  Inode& operator=(const Inode&) = delete;
  ~Inode() { quota.give_back(pages.size() * kPageBytes); }

  std::size_t read(std::uint64_t offset, base::MutableBytes into) noexcept;
  int write(std::uint64_t offset, const std::vector<base::Buffer>& pieces);
  int resize(std::uint64_t to);
  std::uint64_t size();
  FileVersion version();
  bool try_lock(const void* owner, FileLock lock);

  const bool is_directory;
  const std::uint64_t number;                          // no other has it
  std::map<std::string, InodePtr, std::less<>> names;  // guarded by the disk's names_mutex_
  Quota& quota;

  std::mutex mutex;  // guards what follows
  std::uint64_t length = 0;
  std::int64_t changes = 0;
  std::vector<std::unique_ptr<Page>> pages;  // a null one is a hole
  std::map<const void*, FileLock> locks;     // by the handle that holds it

 private:
  int resize_locked(std::uint64_t to);
  void put(std::uint64_t offset, base::ByteView bytes);
};

std::size_t MemoryDisk::Inode::read(std::uint64_t offset, base::MutableBytes into) noexcept {
  const std::lock_guard lock(mutex);
  if (offset >= length) return 0;
  const std::size_t bytes = std::min<std::uint64_t>(into.size(), length - offset);
  for (std::size_t done = 0; done < bytes;) {
    const std::uint64_t at = offset + done;
    const std::size_t within = at % kPageBytes;
    const std::size_t part = std::min(bytes - done, kPageBytes - within);
    const Page* const page = pages[at / kPageBytes].get();
    if (page != nullptr) std::memcpy(into.data() + done, page->data() + within, part);
    if (page == nullptr) std::memset(into.data() + done, 0, part);
    done += part;
  }
  return bytes;
}

int MemoryDisk::Inode::write(std::uint64_t offset, const std::vector<base::Buffer>& pieces) {
  std::uint64_t bytes = 0;
  for (const base::Buffer& piece : pieces) bytes += piece.size();
  if (bytes == 0) return 0;
  if (bytes > kLargestOffset || offset > kLargestOffset - bytes) return EFBIG;
  const std::lock_guard lock(mutex);
  if (offset + bytes > length) {
    const int error = resize_locked(offset + bytes);
    if (error != 0) return error;
  }
  ++changes;
  for (const base::Buffer& piece : pieces) {
    put(offset, piece.view());
    offset += piece.size();
  }
  return 0;
}

void MemoryDisk::Inode::put(std::uint64_t offset, base::ByteView bytes) {
  while (!bytes.empty()) {
    const std::size_t within = offset % kPageBytes;
    const std::size_t part = std::min(bytes.size(), kPageBytes - within);
    std::unique_ptr<Page>& page = pages[offset / kPageBytes];
    if (page == nullptr) page = std::make_unique<Page>();
    std::memcpy(page->data() + within, bytes.data(), part);
    bytes = bytes.subspan(part);
    offset += part;
  }
}

int MemoryDisk::Inode::resize(std::uint64_t to) {
  if (to > kLargestOffset) return EFBIG;
  const std::lock_guard lock(mutex);
  return resize_locked(to);
}

int MemoryDisk::Inode::resize_locked(std::uint64_t to) {
  const std::uint64_t before = pages.size();
  const std::uint64_t after = pages_of(to);
  if (after > before && !quota.take((after - before) * kPageBytes)) return ENOSPC;
  pages.resize(after);
  if (after < before) quota.give_back((before - after) * kPageBytes);
  // What is cut off must not come back when the file grows again.
  const std::size_t within = to % kPageBytes;
  if (to < length && within != 0 && pages.back() != nullptr) {
    std::memset(pages.back()->data() + within, 0, kPageBytes - within);
  }
  length = to;
  ++changes;
  return 0;
}

std::uint64_t MemoryDisk::Inode::size() {
  const std::lock_guard lock(mutex);
  return length;
}

FileVersion MemoryDisk::Inode::version() {
  const std::lock_guard lock(mutex);
  return {number, length, changes};
}

bool MemoryDisk::Inode::try_lock(const void* owner, FileLock lock) {
  const std::lock_guard guard(mutex);
  for (const auto& [other, held] : locks) {
    const bool both_shared = held == FileLock::Shared && lock == FileLock::Shared;
    if (other != owner && !both_shared) return false;
  }
  locks[owner] = lock;
  return true;
}

class MemoryFile final : public File {
 public:
  MemoryFile(MemoryDisk::InodePtr inode, std::string path, bool writable)
      : inode_(std::move(inode)), path_(std::move(path)), writable_(writable) {}
  ~MemoryFile() override {
    const std::lock_guard lock(inode_->mutex);
    inode_->locks.erase(this);
  }

  Task<base::Result<base::Buffer>> read_at(std::uint64_t offset, base::Buffer into) override {
    if (turn_is_over()) co_await Yield();
    into.resize(inode_->read(offset, into.span()));
    spend(into.size());
    co_return into;
  }

  std::optional<std::size_t> try_read_at(std::uint64_t offset,
                                         base::MutableBytes into) noexcept override {
    return inode_->read(offset, into);
  }

  Task<base::Result<std::vector<base::Buffer>>> write_gather(
      std::uint64_t offset, std::vector<base::Buffer> pieces) override {
    if (turn_is_over()) co_await Yield();
    const int error = writable_ ? inode_->write(offset, pieces) : EBADF;
    if (error != 0) co_return failed("cannot write", path_, error);
    std::size_t bytes = 0;
    for (const base::Buffer& piece : pieces) bytes += piece.size();
    spend(bytes);
    co_return pieces;
  }

  Task<base::Result<void>> sync() override { co_return base::Result<void>(); }

  Task<base::Result<std::uint64_t>> size() override { co_return inode_->size(); }

  Task<base::Result<void>> truncate(std::uint64_t length) override {
    co_return outcome_of(writable_ ? inode_->resize(length) : EINVAL, "cannot truncate", path_);
  }

  base::Result<bool> try_lock(FileLock lock) override { return inode_->try_lock(this, lock); }

 private:
  const MemoryDisk::InodePtr inode_;
  const std::string path_;
  const bool writable_;
};

MemoryDisk::MemoryDisk(std::uint64_t capacity_bytes)
    : quota_(capacity_bytes), root_(std::make_shared<Inode>(quota_, true, 0)) {}

MemoryDisk::~MemoryDisk() = default;

int MemoryDisk::check_name(const Place& place) {
  if (place.name.size() > kLongestName) return ENAMETOOLONG;
  return place.name.find('\0') != std::string::npos ? EINVAL : 0;
}

int MemoryDisk::add_name(const Place& place, const InodePtr& inode) {
  const int error = check_name(place);
  if (error != 0) return error;
  if (!quota_.take(kNameCharge)) return ENOSPC;
  place.directory->names[place.name] = inode;
  return 0;
}

void MemoryDisk::drop_name(const Place& place) {
  place.directory->names.erase(place.name);
  quota_.give_back(kNameCharge);
}

int MemoryDisk::create(const Place& place, bool is_directory, InodePtr& out) {
  auto inode = std::make_shared<Inode>(quota_, is_directory, ++last_inode_);
  const int error = add_name(place, inode);
  if (error == 0) out = std::move(inode);
  return error;
}

int MemoryDisk::open_inode(std::string_view path, OpenMode mode, InodePtr& out) {
  Place place;
  const std::lock_guard lock(names_mutex_);
  int error = find_place(root_, path, place);
  if (error == 0) error = check_open(place, mode);
  if (error == 0 && place.inode == nullptr) error = create(place, false, place.inode);
  if (error == 0) out = std::move(place.inode);
  return error;
}

int MemoryDisk::add_directory(std::string_view path) {
  Place place;
  const std::lock_guard lock(names_mutex_);
  const int error = find_place(root_, path, place);
  if (error != 0) return error;
  if (place.inode != nullptr) return place.inode->is_directory ? 0 : EEXIST;
  return create(place, true, place.inode);
}

int MemoryDisk::list_names(std::string_view path, std::vector<DirectoryEntry>& out) const {
  const std::lock_guard lock(names_mutex_);
  InodePtr directory;
  const int error = find_directory(root_, path, directory);
  if (error != 0) return error;
  for (const auto& [name, inode] : directory->names) out.push_back({name, inode->is_directory});
  return 0;
}

int MemoryDisk::look_at(std::string_view path, FileVersion& out) const {
  const std::lock_guard lock(names_mutex_);
  Place place;
  const int error = find_place(root_, path, place);
  if (error != 0) return error;
  if (place.inode == nullptr) return ENOENT;
  if (place.inode->is_directory) return EISDIR;
  out = place.inode->version();
  return 0;
}

int MemoryDisk::move(std::string_view from, std::string_view to) {
  Place source;
  Place target;  // what a rename replaces is freed after the lock
  const std::lock_guard lock(names_mutex_);
  int error = find_place(root_, from, source);
  if (error == 0) error = find_place(root_, to, target);
  if (error == 0) error = check_rename(root_, source, target);
  if (error == 0) error = check_name(target);
  if (error != 0 || source.inode == target.inode) return error;
  if (target.inode != nullptr) drop_name(target);
  target.directory->names[target.name] = source.inode;
  source.directory->names.erase(source.name);
  return 0;
}

int MemoryDisk::add_link(std::string_view from, std::string_view to) {
  Place source;
  Place target;
  const std::lock_guard lock(names_mutex_);
  int error = find_place(root_, from, source);
  if (error == 0) error = find_place(root_, to, target);
  if (error == 0) error = check_link(source, target);
  if (error == 0) error = add_name(target, source.inode);
  return error;
}

int MemoryDisk::unlink(std::string_view path) {
  Place place;  // freed after the lock
  const std::lock_guard lock(names_mutex_);
  int error = find_place(root_, path, place);
  if (error == 0) error = check_remove(root_, place);
  if (error == 0) drop_name(place);
  return error;
}

int MemoryDisk::check_directory(std::string_view path) const {
  const std::lock_guard lock(names_mutex_);
  InodePtr directory;
  return find_directory(root_, path, directory);
}

Task<base::Result<std::unique_ptr<File>>> MemoryDisk::open(std::string path, OpenOptions options) {
  InodePtr inode;
  const int error = open_inode(path, options.mode, inode);
  if (error != 0) co_return failed("cannot open", path, error);
  co_return std::make_unique<MemoryFile>(std::move(inode), path,
                                         options.mode != OpenMode::ReadExisting);
}

Task<base::Result<void>> MemoryDisk::make_directory(std::string path) {
  co_return outcome_of(add_directory(path), "cannot make directory", path);
}

Task<base::Result<std::vector<DirectoryEntry>>> MemoryDisk::list(std::string path) {
  std::vector<DirectoryEntry> entries;
  const int error = list_names(path, entries);
  if (error != 0) co_return failed("cannot list", path, error);
  co_return entries;
}

Task<base::Result<FileVersion>> MemoryDisk::version(std::string path) {
  FileVersion version;
  const int error = look_at(path, version);
  if (error != 0) co_return failed("cannot look at", path, error);
  co_return version;
}

Task<base::Result<void>> MemoryDisk::rename(std::string from, std::string to) {
  co_return outcome_of(move(from, to), "cannot rename", from);
}

Task<base::Result<void>> MemoryDisk::link(std::string from, std::string to) {
  co_return outcome_of(add_link(from, to), "cannot link", from);
}

Task<base::Result<void>> MemoryDisk::remove(std::string path) {
  co_return outcome_of(unlink(path), "cannot remove", path);
}

Task<base::Result<void>> MemoryDisk::sync_directory(std::string path) {
  co_return outcome_of(check_directory(path), "cannot sync directory", path);
}

Task<base::Result<std::uint64_t>> MemoryDisk::free_bytes(std::string path) {
  const int error = check_directory(path);
  if (error != 0) co_return failed("cannot ask for free space of", path, error);
  co_return quota_.left();
}

}  // namespace ron::platform
