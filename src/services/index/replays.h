// Replays: what was answered lately to requests with an Idempotency-Key, so that one that is sent
// again is not done again.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "runtime/lock.h"

namespace ron::index {

// Bounded: the one that came first is forgotten first. Any thread.
class Replays {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::size_t kMaxKeyBytes = 128;

  Replays();
  Replays(const Replays&) = delete;
  Replays& operator=(const Replays&) = delete;

  // What was answered to that key; nothing: it is new. Malformed when it stood for another request.
  base::Result<std::optional<base::Value>> find(const std::string& key,
                                                const std::string& request) const;
  void keep(const std::string& key, std::string request, base::Value answer);

 private:
  struct Entry {
    std::string request;
    base::Value answer;
  };
  mutable runtime::Lock lock_;
  std::unordered_map<std::string, Entry> entries_;  // guarded by lock_, as what follows
  std::vector<std::string> order_;                  // a ring of the keys
  std::size_t oldest_ = 0;
};

}  // namespace ron::index
