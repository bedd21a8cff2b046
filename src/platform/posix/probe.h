// What is there on this machine, asked before a start: `ron doctor` compares it with the
// configuration, client commands look who listens.
#pragma once

#include <cstdint>

namespace ron::platform::posix {

struct Machine {
  std::uint64_t memory_bytes = 0;  // physical, or the control group's limit when that is less
  std::uint64_t open_files = 0;    // RLIMIT_NOFILE, hard: a host raises the soft one itself
  bool huge_pages = false;         // files in memory can be made of huge pages
};

// Maps and unmaps a few megabytes to find out; changes nothing else. Any thread.
Machine probe_machine();

// Whether somebody accepts connections on 127.0.0.1. Any thread; returns at once, or after a moment
// where somebody is overrun.
bool is_served_locally(std::uint16_t port);

}  // namespace ron::platform::posix
