#include "platform/posix/files.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "platform/disk_error.h"
#include "platform/posix/descriptor.h"
#include "platform/posix/names.h"

namespace ron::platform::posix {
namespace {

std::unexpected<base::Error> failed(std::string_view what, std::string_view path, int error) {
  return base::fail(disk_error(what, path, error));
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

int write_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      return n == 0 ? EIO : errno;
    }
  }
  return 0;
}

int write_new(const std::string& path, std::string_view text) {
  const names::Opened opened = names::open(path, {OpenMode::CreateNew, false});
  if (opened.error != 0) return opened.error;
  const Descriptor file(opened.fd);
  const int error = write_text(file.get(), text);
  if (error != 0) return error;
  return fsync(file.get()) == 0 ? 0 : errno;
}

// A pipe or a device: what it is must not be replaced by a file.
base::Result<void> write_into(const std::string& path, std::string_view text) {
  const Descriptor stream(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  const int error = stream.valid() ? write_text(stream.get(), text) : errno;
  if (error != 0) return failed("cannot write", path, error);
  return {};
}

}  // namespace

base::Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return failed("cannot read", path, errno);
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return failed("cannot read", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return base::fail(base::Code::Malformed, "'" + path + "' is not a regular file");
  }
  std::string text(max_bytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = read(file.get(), text.data() + size, text.size() - size);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) return failed("cannot read", path, errno);
    if (n > 0) size += static_cast<std::size_t>(n);
  }
  if (size > max_bytes) {
    return base::fail(base::Code::Malformed, "'" + path + "' is larger than the " +
                                                 std::to_string(max_bytes) + " bytes allowed");
  }
  text.resize(size);
  return text;
}

base::Result<void> write_private_file(const std::string& path, std::string_view text) {
  if (path_kind(path) == PathKind::Other) return write_into(path, text);
  const std::string draft = path + ".new";
  names::remove(draft);  // left by a crash
  int error = write_new(draft, text);
  if (error == 0) error = names::rename(draft, path);
  if (error == 0) error = names::sync_directory(parent_of(path));
  if (error == 0) return {};
  names::remove(draft);
  return failed("cannot write", path, error);
}

void remove_file(const std::string& path) { names::remove(path); }

base::Result<void> make_private_directory(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    const int error = names::make_directory(parent);
    if (error != 0) return failed("cannot make directory", parent, error);
  }
  const int error = names::make_directory(path);
  if (error != 0) return failed("cannot make directory", path, error);
  return {};
}

base::Result<std::vector<std::string>> list_directory(const std::string& path) {
  std::vector<DirectoryEntry> entries;
  const int error = names::list(path, entries);
  if (error != 0) return failed("cannot list", path, error);
  std::vector<std::string> listed;
  for (DirectoryEntry& entry : entries) listed.push_back(std::move(entry.name));
  return listed;
}

base::Result<unsigned> file_mode(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return failed("cannot stat", path, errno);
  return status.st_mode & 07777U;
}

PathKind path_kind(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return PathKind::Nothing;
  if (S_ISDIR(status.st_mode)) return PathKind::Directory;
  return S_ISREG(status.st_mode) ? PathKind::Regular : PathKind::Other;
}

bool can_write_directory(const std::string& path) {
  return faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

bool can_read_file(const std::string& path) {
  return faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0;
}

base::Result<bool> is_claimed(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return failed("cannot read", path, errno);
  if (flock(file.get(), LOCK_SH | LOCK_NB) == 0) return false;
  if (errno == EWOULDBLOCK) return true;
  return failed("cannot lock", path, errno);
}

base::Result<std::uint64_t> free_bytes(const std::string& path) {
  std::uint64_t bytes = 0;
  const int error = names::free_bytes(path, bytes);
  if (error != 0) return failed("cannot look at", path, error);
  return bytes;
}

std::vector<std::pair<std::string, std::string>> environment() {
  std::vector<std::pair<std::string, std::string>> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

}  // namespace ron::platform::posix
