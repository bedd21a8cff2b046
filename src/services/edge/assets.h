// Assets: what was filled from origins.
#pragma once

#include "base/result.h"
#include "platform/task.h"
#include "runtime/shutdown.h"
#include "services/edge/parts.h"

namespace ron::edge {

// Made and opened on cores[0]; asked on any core.
class Assets {
 public:
  explicit Assets(EdgeParts parts) : parts_(std::move(parts)) {}
  Assets(const Assets&) = delete;
  Assets& operator=(const Assets&) = delete;

  // Before listeners and tasks. Not cancel-safe.
  platform::Task<base::Result<>> open();
  // On cores[0], at the start and after a reload.
  void apply(const EdgeConfig& config);

 private:
  EdgeParts parts_;
};

}  // namespace ron::edge
