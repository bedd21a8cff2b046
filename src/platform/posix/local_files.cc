#include "platform/posix/local_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/disk_error.h"
#include "platform/posix/names.h"

namespace ron::platform::posix {
namespace {

std::unexpected<base::Error> failed(std::string_view what, std::string_view path) {
  return base::fail(disk_error(what, path, errno));
}

FileKind kind_of(mode_t mode) noexcept {
  if (S_ISREG(mode)) return FileKind::Regular;
  if (S_ISDIR(mode)) return FileKind::Directory;
  return S_ISLNK(mode) ? FileKind::Link : FileKind::Other;
}

FileKind kind_of(int parent, const dirent& entry) noexcept {
  switch (entry.d_type) {
    case DT_REG:
      return FileKind::Regular;
    case DT_DIR:
      return FileKind::Directory;
    case DT_LNK:
      return FileKind::Link;
    case DT_UNKNOWN: {
      struct stat status{};
      const int error = fstatat(parent, entry.d_name, &status, AT_SYMLINK_NOFOLLOW);
      return error == 0 ? kind_of(status.st_mode) : FileKind::Other;
    }
    default:
      return FileKind::Other;
  }
}

FileStamp stamp_of(const struct stat& status) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

bool is_executable(const struct stat& status) noexcept { return (status.st_mode & S_IXUSR) != 0; }

// Bytes read until the buffer is full or the file ends; -1 with errno set.
ssize_t read_full(int fd, base::MutableBytes into) noexcept {
  std::size_t size = 0;
  while (size < into.size()) {
    const ssize_t n = read(fd, into.data() + size, into.size() - size);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) return -1;
    if (n > 0) size += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(size);
}

bool write_full(int fd, base::ByteView bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

// 0, or an errno.
int lock(int fd) noexcept {
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

std::unexpected<base::Error> lock_failed(const std::string& path, int error) {
  if (error != EWOULDBLOCK) return base::fail(disk_error("cannot lock", path, error));
  return base::fail(base::Code::Busy, "another process writes '" + path + "'");
}

constexpr mode_t kPermissions = S_IRWXU | S_IRWXG | S_IRWXO;

// Where the links at `path` end: a name that nothing has yet.
base::Result<std::string> end_of_links(std::string path) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  for (int followed = 0; followed < kMostLinks; ++followed) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = readlink(path.c_str(), target.data(), target.size());
    if (size < 0) return path;
    const std::string_view next(target.data(), static_cast<std::size_t>(size));
    const std::size_t slash = path.rfind('/');
    const bool beside = !next.starts_with('/') && slash != std::string::npos;
    path = (beside ? path.substr(0, slash + 1) : "") + std::string(next);
  }
  return base::fail(disk_error("cannot write", path, ELOOP));
}

// The file is still the one at `path`: whoever held it before may have given it another name.
bool is_at(int fd, const std::string& path) noexcept {
  struct stat held{};
  struct stat there{};
  return fstat(fd, &held) == 0 && lstat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

}  // namespace

base::Result<PathLock> PathLock::file(const std::string& path) {
  for (;;) {
    const names::Opened opened = names::open(path, {OpenMode::CreateOrOpen, false});
    if (opened.error != 0) return base::fail(disk_error("cannot write", path, opened.error));
    Descriptor file(opened.fd);
    const int error = lock(file.get());
    if (error != 0) return lock_failed(path, error);
    if (is_at(file.get(), path)) return PathLock(std::move(file));
  }
}

base::Result<PathLock> PathLock::directory(const std::string& path) {
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int error = directory.valid() ? lock(directory.get()) : errno;
  if (error != 0) return lock_failed(path, error);
  return PathLock(std::move(directory));
}

base::Result<FileFacts> file_facts(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return failed("cannot read", path);
  return FileFacts{kind_of(status.st_mode), stamp_of(status), is_executable(status)};
}

base::Result<FileFacts> target_facts(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return failed("cannot read", path);
  return FileFacts{kind_of(status.st_mode), stamp_of(status), is_executable(status)};
}

base::Result<void> check_readable(const std::string& path) {
  if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) return failed("cannot read", path);
  return {};
}

base::Result<std::string> read_link(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return failed("cannot read", path);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

base::Result<std::string> real_path(const std::string& path) {
  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }
  };
  const std::unique_ptr<char, Free> resolved(realpath(path.c_str(), nullptr));
  if (resolved == nullptr) return failed("cannot read", path);
  return std::string(resolved.get());
}

bool is_same_file(const std::string& path, const std::string& other) noexcept {
  struct stat one{};
  struct stat two{};
  return stat(path.c_str(), &one) == 0 && stat(other.c_str(), &two) == 0 &&
         one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

base::Result<std::vector<LocalEntry>> list_local(const std::string& path) {
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
  if (directory == nullptr) return failed("cannot list", path);
  std::vector<LocalEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(directory.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({std::string(name), kind_of(dirfd(directory.get()), *entry)});
  }
  if (errno != 0) return failed("cannot list", path);
  std::ranges::sort(entries, {}, &LocalEntry::name);
  return entries;
}

base::Result<LoadedFile> load_file(const std::string& path, std::size_t cap_bytes) {
  const names::Opened opened = names::open(path, {});
  if (opened.error != 0) return base::fail(disk_error("cannot read", path, opened.error));
  const Descriptor file(opened.fd);
  struct stat before{};
  if (fstat(file.get(), &before) != 0) return failed("cannot read", path);
  LoadedFile loaded{stamp_of(before), {}, is_executable(before)};
  if (loaded.stamp.bytes > cap_bytes) return loaded;
  base::Buffer bytes(static_cast<std::size_t>(loaded.stamp.bytes) + 1);
  const ssize_t size = read_full(file.get(), bytes.span());
  struct stat after{};
  if (size < 0 || fstat(file.get(), &after) != 0) return failed("cannot read", path);
  if (static_cast<std::uint64_t>(size) != loaded.stamp.bytes || stamp_of(after) != loaded.stamp) {
    return base::fail(base::Code::PreconditionFailed, "the file changed while it was read");
  }
  bytes.resize(static_cast<std::size_t>(size));
  loaded.bytes = std::move(bytes);
  return loaded;
}

base::Result<Descriptor> open_input(const std::string& path) {
  Descriptor stream(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!stream.valid()) return failed("cannot read", path);
  return stream;
}

base::Result<Descriptor> open_output(const std::string& path) {
  Descriptor stream(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!stream.valid()) return failed("cannot write", path);
  return stream;
}

base::Result<base::Buffer> read_stream(int stream, base::Buffer into, std::string_view name) {
  const ssize_t size = read_full(stream, into.span());
  if (size < 0) return failed("cannot read", name);
  into.resize(static_cast<std::size_t>(size));
  return into;
}

base::Result<void> write_stream(int stream, base::ByteView bytes, std::string_view name) {
  if (write_full(stream, bytes)) return {};
  if (errno == EPIPE) return base::fail(base::Code::Canceled, "nobody reads what is written");
  return failed("cannot write to", name);
}

bool output_is_terminal() noexcept { return isatty(STDOUT_FILENO) == 1; }

void write_standard_error(std::string_view text) noexcept {
  write_full(STDERR_FILENO, base::as_bytes(text));
}

bool error_is_terminal() noexcept { return isatty(STDERR_FILENO) == 1; }

std::size_t terminal_columns() noexcept {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

unsigned public_file_mode() noexcept {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666U & ~mask;
}

base::Result<OutputTarget> output_target(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return OutputTarget{true, path};
    const bool is_link = lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
    if (!is_link) return OutputTarget{false, path};
    const auto real = real_path(path);
    if (!real) return base::fail(real.error());
    return OutputTarget{false, *real};
  }
  if (errno != ENOENT) return failed("cannot write", path);
  const auto end = end_of_links(path);
  if (!end) return base::fail(end.error());
  return OutputTarget{false, *end};
}

base::Result<void> check_replaceable(const std::string& path, bool force) {
  return check_replaceable_at(AT_FDCWD, path, path, force);
}

base::Result<void> check_replaceable_at(int directory, const std::string& name,
                                        std::string_view shown, bool force) {
  const auto in_the_way = [shown](const char* what) {
    return base::fail(base::Code::PreconditionFailed, "'" + std::string(shown) + "' " + what);
  };
  struct stat status{};
  if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (S_ISDIR(status.st_mode)) return in_the_way("is a directory");
  if (S_ISLNK(status.st_mode)) {
    if (force) return {};
    return in_the_way("is a symbolic link; --force replaces it");
  }
  if (!S_ISREG(status.st_mode)) return in_the_way("is not a regular file");
  if (force) return {};
  const bool no_writer = (status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0;
  if (no_writer || faccessat(directory, name.c_str(), W_OK, AT_EACCESS) != 0) {
    return in_the_way("is read-only; --force replaces it");
  }
  if (status.st_nlink > 1) {
    return in_the_way(
        "has other names (hard links), which would keep what it holds now; --force makes this one "
        "a "
        "file of its own");
  }
  return {};
}

bool may_be_draft(const std::string& path) noexcept { return may_be_draft_at(AT_FDCWD, path); }

bool may_be_draft_at(int directory, const std::string& name) noexcept {
  struct stat status{};
  if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  return S_ISREG(status.st_mode) && status.st_nlink == 1 && status.st_uid == geteuid();
}

base::Result<void> publish_file(const std::string& draft, const std::string& path, unsigned mode) {
  struct stat replaced{};
  if (lstat(path.c_str(), &replaced) == 0 && S_ISREG(replaced.st_mode)) {
    mode = replaced.st_mode & kPermissions;
    // Only root may give files away; others keep what they make.
    [[maybe_unused]] const int given = chown(draft.c_str(), replaced.st_uid, replaced.st_gid);
  }
  if (chmod(draft.c_str(), mode) != 0) return failed("cannot set the mode of", draft);
  if (rename(draft.c_str(), path.c_str()) != 0) return failed("cannot write", path);
  return {};
}

base::Result<void> make_public_directories(const std::string& path, unsigned file_mode) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    const bool is_ours = mkdir(part.c_str(), S_IRWXU) == 0;
    if (is_ours && chmod(part.c_str(), directory_mode(file_mode)) != 0) {
      return failed("cannot set the mode of", part);
    }
    if (!is_ours) {
      const int error = errno;
      struct stat status{};
      const bool there = stat(part.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
      if (!there) return base::fail(disk_error("cannot make directory", part, error));
    }
    if (slash == std::string::npos) return {};
  }
}

base::Result<void> sync_file_system(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || syncfs(file.get()) != 0) return failed("cannot sync", path);
  return {};
}

}  // namespace ron::platform::posix
