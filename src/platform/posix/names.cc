#include "platform/posix/names.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ron::platform::posix::names {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;

bool has_nul(const std::string& path) { return path.find('\0') != std::string::npos; }

int flags_of(OpenOptions options) {
  // Opening must not wait for the other end of a pipe.
  const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (options.direct ? O_DIRECT : 0);
  switch (options.mode) {
    case OpenMode::ReadExisting:
      return flags | O_RDONLY;
    case OpenMode::WriteExisting:
      return flags | O_RDWR;
    case OpenMode::CreateNew:
      return flags | O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::CreateOrOpen:
      return flags | O_RDWR | O_CREAT;
  }
  return flags;
}

// The kernel resolves the last name only, beneath its directory and through no link; kernels and
// sandboxes without openat2 have O_NOFOLLOW.
int open_beneath(int directory, const char* name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.mode = (flags & O_CREAT) != 0 ? kFileMode : 0;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  const long fd = syscall(SYS_openat2, directory, name, &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN))
    return static_cast<int>(fd);
  return openat(directory, name, flags, kFileMode);
}

Opened open_path(const std::string& path, int flags) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor directory(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return {errno, -1};
  const int fd = open_beneath(directory.get(), name.c_str(), flags);
  if (fd < 0) return {errno, -1};
  return {0, fd};
}

// Aligning to pages is enough for direct I/O on this file. Kernels that cannot tell have no file
// systems that want more.
bool takes_direct_pages(int fd) {
  constexpr std::uint32_t kPage = base::Buffer::kPageBytes;
  struct statx facts{};
  const bool told = statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 &&
                    (facts.stx_mask & STATX_DIOALIGN) != 0;
  if (!told) return true;
  return facts.stx_dio_offset_align != 0 && facts.stx_dio_offset_align <= kPage &&
         facts.stx_dio_mem_align <= kPage;
}

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

bool is_directory(int parent, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat status{};
  return fstatat(parent, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

}  // namespace

Opened open(const std::string& path, OpenOptions options) {
  if (has_nul(path)) return {EINVAL, -1};
  const int flags = flags_of(options);
  Opened opened = open_path(path, flags);
  opened.direct = options.direct;
  if (opened.error == EINVAL && options.direct) opened = open_path(path, flags & ~O_DIRECT);
  if (opened.error != 0) return opened;
  struct stat status{};
  const bool regular = fstat(opened.fd, &status) == 0 && S_ISREG(status.st_mode);
  if (regular && opened.direct) opened.direct = takes_direct_pages(opened.fd);
  const int unwanted = O_NONBLOCK | (opened.direct ? 0 : O_DIRECT);
  const int now = fcntl(opened.fd, F_GETFL);
  if (regular && fcntl(opened.fd, F_SETFL, now & ~unwanted) == 0) return opened;
  const Descriptor refused(opened.fd);
  return {EISDIR, -1};
}

int make_directory(const std::string& path) {
  if (has_nul(path)) return EINVAL;
  if (mkdir(path.c_str(), kDirectoryMode) == 0) return 0;
  const int error = errno;
  struct stat status{};
  const bool there = error == EEXIST && stat(path.c_str(), &status) == 0;
  return there && S_ISDIR(status.st_mode) ? 0 : error;
}

int list(const std::string& path, std::vector<DirectoryEntry>& out) {
  if (has_nul(path)) return EINVAL;
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
  if (directory == nullptr) return errno;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    out.push_back({std::string(name), is_directory(dirfd(directory.get()), *entry)});
  }
  const int error = errno;
  std::ranges::sort(out, {}, &DirectoryEntry::name);
  return error;
}

int rename(const std::string& from, const std::string& to) {
  if (has_nul(from) || has_nul(to)) return EINVAL;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int link(const std::string& from, const std::string& to) {
  if (has_nul(from) || has_nul(to)) return EINVAL;
  return linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0) == 0 ? 0 : errno;
}

int remove(const std::string& path) {
  if (has_nul(path)) return EINVAL;
  return ::remove(path.c_str()) == 0 ? 0 : errno;
}

int sync_directory(const std::string& path) {
  if (has_nul(path)) return EINVAL;
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return errno;
  return fsync(directory.get()) == 0 ? 0 : errno;
}

int version(const std::string& path, FileVersion& out) {
  if (has_nul(path)) return EINVAL;
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return S_ISLNK(status.st_mode) ? ELOOP : EINVAL;
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  out.file = status.st_ino;
  out.bytes = static_cast<std::uint64_t>(status.st_size);
  out.changed = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec;
  return 0;
}

int free_bytes(const std::string& path, std::uint64_t& out) {
  if (has_nul(path)) return EINVAL;
  struct statvfs status{};
  if (statvfs(path.c_str(), &status) != 0) return errno;
  out = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  return 0;
}

}  // namespace ron::platform::posix::names
