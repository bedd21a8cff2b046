// TCP and Unix sockets, non-blocking, on the current Loop.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "platform/net.h"
#include "platform/posix/descriptor.h"
#include "platform/posix/socket_path.h"

namespace ron::platform::posix {

class SocketNet final : public Net {
 public:
  base::Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint) override;
  base::Result<std::unique_ptr<Stream>> connect(const Endpoint& endpoint) override;
  [[nodiscard]] std::uint32_t own_uid() const noexcept override;

 private:
  friend class SocketListener;
  struct Bound {
    Descriptor socket;
    Endpoint local;
    std::shared_ptr<SocketPath> path;  // of a Unix socket: shared by its listeners
  };
  base::Result<Bound> bind_tcp(const Endpoint& endpoint);
  base::Result<Bound> bind_unix(const Endpoint& endpoint);
  void forget(const Endpoint& endpoint) noexcept;

  std::mutex mutex_;
  std::multiset<Endpoint> bound_;  // guarded by mutex_: the ports this process listens on
  std::map<std::string, std::weak_ptr<SocketPath>> paths_;  // guarded by mutex_, likewise
};

// Whether a TCP port can be had right now: the error is the one that listen() would give. Binds it
// for a moment. Any thread; a Unix socket is not looked at.
base::Result<void> check_port(const Endpoint& endpoint);

}  // namespace ron::platform::posix
