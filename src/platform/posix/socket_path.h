// SocketPath: the name of a Unix socket in the file system, from bind to unlink.
//
// The socket is 0600 and its directory 0700, so that the file system keeps other users out before
// a connection exists. A name that a dead process left behind is replaced; one that somebody
// answers on is taken.
#pragma once

#include <string>
#include <utility>

#include <sys/types.h>

#include "base/result.h"
#include "platform/posix/descriptor.h"

namespace ron::platform::posix {

class SocketPath {
 public:
  // Binds a new listening socket there. UpstreamFail says why not: the directory lets others in,
  // the name is in use or not a socket.
  static base::Result<SocketPath> claim(const std::string& path, int backlog);

  SocketPath(SocketPath&&) noexcept = default;
  SocketPath& operator=(SocketPath&&) = delete;
  // Removes the name, if it is still ours.
  ~SocketPath();

  // Another descriptor of the same socket: every listener closes its own.
  [[nodiscard]] Descriptor descriptor() const noexcept;

 private:
  SocketPath(std::string path, Descriptor socket, dev_t device, ino_t inode) noexcept
      : path_(std::move(path)), socket_(std::move(socket)), device_(device), inode_(inode) {}

  std::string path_;
  Descriptor socket_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace ron::platform::posix
