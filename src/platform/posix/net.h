// TCP over non-blocking sockets on the current Loop.
#pragma once

#include <mutex>
#include <set>

#include "platform/net.h"

namespace ron::platform::posix {

class TcpNet final : public Net {
 public:
  base::Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint) override;
  base::Result<std::unique_ptr<Stream>> connect(const Endpoint& endpoint) override;

 private:
  friend class TcpListener;
  void forget(const Endpoint& endpoint) noexcept;

  std::mutex mutex_;
  std::multiset<Endpoint> bound_;  // guarded by mutex_: what this process listens on
};

}  // namespace ron::platform::posix
