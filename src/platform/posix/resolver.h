// SystemResolver: what this machine's name service says (hosts file, DNS), on the blocking pool.
#pragma once

#include "platform/blocking.h"
#include "platform/resolver.h"

namespace ron::platform::posix {

class SystemResolver final : public Resolver {
 public:
  explicit SystemResolver(BlockingPool& blocking) noexcept : blocking_(blocking) {}
  Task<base::Result<std::vector<Endpoint>>> resolve(std::string host, std::uint16_t port) override;

 private:
  BlockingPool& blocking_;
};

}  // namespace ron::platform::posix
