#include "platform/posix/probe.h"

#include <algorithm>
#include <charconv>
#include <string>

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/units.h"
#include "platform/posix/descriptor.h"
#include "platform/posix/files.h"

namespace ron::platform::posix {
namespace {

constexpr std::size_t kHugePageBytes = 2 * base::kMiB;
constexpr timeval kConnectTime{.tv_sec = 0, .tv_usec = 200'000};
constexpr int kMadvCollapse = 25;  // MADV_COLLAPSE, Linux 6.1; missing from older headers

std::uint64_t memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  std::uint64_t bytes = 0;
  if (pages > 0 && page_bytes > 0) {
    bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  }
  // "max" when there is no limit; no such file outside control groups.
  const auto limit = read_small_file("/sys/fs/cgroup/memory.max", 64);
  if (!limit) return bytes;
  std::uint64_t allowed = 0;
  const auto [end, error] = std::from_chars(limit->data(), limit->data() + limit->size(), allowed);
  return error == std::errc{} ? std::min(bytes, allowed) : bytes;
}

// In a file in memory, as MemfdArena keeps large objects.
bool can_collapse() {
  constexpr std::size_t kBytes = 2 * kHugePageBytes;  // holds one aligned huge page
  const Descriptor file(memfd_create("ron-probe", MFD_CLOEXEC));
  if (!file.valid() || ftruncate(file.get(), kBytes) != 0) return false;
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return false;
  // A huge page of a file must be aligned in memory and in the file alike.
  const auto start = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = (start + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  auto* page = reinterpret_cast<std::byte*>(aligned);
  void* placed =
      mmap(page, kHugePageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0);
  bool collapsed = false;
  if (placed != MAP_FAILED) {
    *static_cast<volatile std::byte*>(page) = std::byte{1};
    collapsed = madvise(page, kHugePageBytes, kMadvCollapse) == 0;
  }
  munmap(mapped, kBytes);
  return collapsed;
}

}  // namespace

Machine probe_machine() {
  Machine machine;
  machine.memory_bytes = memory_bytes();
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) machine.open_files = files.rlim_max;
  machine.huge_pages = can_collapse();
  return machine;
}

bool is_served_locally(std::uint16_t port) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return false;
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kConnectTime, sizeof kConnectTime);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace ron::platform::posix
