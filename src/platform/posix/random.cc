#include "platform/posix/random.h"

#include <cerrno>
#include <cstdlib>

#include <sys/random.h>

namespace ron::platform::posix {

void SystemRandom::fill(base::MutableBytes out) noexcept {
  while (!out.empty()) {
    const ssize_t n = getrandom(out.data(), out.size(), 0);
    if (n > 0) {
      out = out.subspan(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      std::abort();  // no randomness, no keys: there is nothing safe left to do
    }
  }
}

}  // namespace ron::platform::posix
