#include "platform/disk.h"

#include <utility>

namespace ron::platform {

Task<base::Result<base::Buffer>> File::write_at(std::uint64_t offset, base::Buffer bytes) {
  std::vector<base::Buffer> one;
  one.push_back(std::move(bytes));
  base::Result<std::vector<base::Buffer>> written = co_await write_gather(offset, std::move(one));
  if (!written) co_return base::fail(std::move(written.error()));
  co_return std::move(written->front());
}

}  // namespace ron::platform
