// What this machine offers, asked before a start: `ron doctor` compares it with the configuration.
#pragma once

#include <cstdint>

namespace ron::platform::posix {

struct Machine {
  std::uint64_t memory_bytes = 0;     // physical, or the control group's limit when that is less
  std::uint64_t open_files_now = 0;   // RLIMIT_NOFILE, soft
  std::uint64_t open_files_most = 0;  // RLIMIT_NOFILE, hard
  bool huge_pages = false;            // memory can be collapsed into huge pages on demand
};

// Maps and unmaps a few megabytes to find out; changes nothing else. Any thread.
Machine probe_machine();

}  // namespace ron::platform::posix
