#include "platform/posix/socket_path.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace ron::platform::posix {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

std::unexpected<base::Error> refused(const std::string& path, std::string_view why) {
  return base::fail(base::Code::UpstreamFail,
                    "cannot listen on unix:" + path + ": " + std::string(why));
}
std::unexpected<base::Error> failed(const std::string& path, int error) {
  return refused(path, std::strerror(error));
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

sockaddr_un address_of(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

Descriptor new_socket() noexcept {
  return Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

base::Result<> prepare_directory(const std::string& path) {
  const std::string directory = directory_of(path);
  if (mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) return failed(path, errno);
  struct stat found{};
  if (stat(directory.c_str(), &found) != 0) return failed(path, errno);
  if (!S_ISDIR(found.st_mode)) return refused(path, directory + " is not a directory");
  if ((found.st_mode & kOthers) != 0) {
    return refused(path, directory + " lets other users in; chmod 700 it or choose another");
  }
  return {};
}

// A name without anybody behind it is removed; anything else that has the name keeps it.
base::Result<> remove_stale(const std::string& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0)
    return errno == ENOENT ? base::Result<>() : failed(path, errno);
  if (!S_ISSOCK(found.st_mode)) return refused(path, "there is something else than a socket");
  const Descriptor probe = new_socket();
  if (!probe.valid()) return failed(path, errno);
  const sockaddr_un address = address_of(path);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN) {
    return refused(path, "another process listens there");
  }
  if (errno != ECONNREFUSED) return failed(path, errno);
  return unlink(path.c_str()) == 0 ? base::Result<>() : failed(path, errno);
}

}  // namespace

base::Result<SocketPath> SocketPath::claim(const std::string& path, int backlog) {
  if (auto ready = prepare_directory(path); !ready) return base::fail(std::move(ready.error()));
  if (auto free = remove_stale(path); !free) return base::fail(std::move(free.error()));
  Descriptor socket = new_socket();
  if (!socket.valid()) return failed(path, errno);
  // The directory admits nobody else, so nobody sees the mode the socket is born with.
  const sockaddr_un address = address_of(path);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || listen(socket.get(), backlog) != 0) {
    return failed(path, errno);
  }
  struct stat made{};
  if (lstat(path.c_str(), &made) != 0) return failed(path, errno);
  return SocketPath(path, std::move(socket), made.st_dev, made.st_ino);
}

SocketPath::~SocketPath() {
  if (!socket_.valid()) return;
  struct stat found{};
  if (lstat(path_.c_str(), &found) != 0) return;
  if (found.st_dev == device_ && found.st_ino == inode_) unlink(path_.c_str());
}

Descriptor SocketPath::descriptor() const noexcept {
  return Descriptor(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
}

}  // namespace ron::platform::posix
