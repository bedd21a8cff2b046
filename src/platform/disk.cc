#include "platform/disk.h"

#include <utility>

namespace ron::platform {

base::Result<std::size_t> File::read_blocking(std::uint64_t offset, base::MutableBytes into) {
  if (const auto there = try_read_at(offset, into)) return *there;
  return base::fail(base::Code::StorageBusy, "the disk has no reads for threads that wait");
}

Task<base::Result<base::Buffer>> File::write_at(std::uint64_t offset, base::Buffer bytes) {
  std::vector<base::Buffer> one;
  one.push_back(std::move(bytes));
  base::Result<std::vector<base::Buffer>> written = co_await write_gather(offset, std::move(one));
  if (!written) co_return base::fail(std::move(written.error()));
  co_return std::move(written->front());
}

}  // namespace ron::platform
