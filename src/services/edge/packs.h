// Packs: the packs that are mounted.
#pragma once

#include "base/result.h"
#include "platform/task.h"
#include "runtime/shutdown.h"
#include "services/edge/parts.h"

namespace ron::edge {

// Made and opened on cores[0]; asked on any core.
class Packs {
 public:
  explicit Packs(EdgeParts parts) : parts_(std::move(parts)) {}
  Packs(const Packs&) = delete;
  Packs& operator=(const Packs&) = delete;

  // Before listeners and tasks. Not cancel-safe.
  platform::Task<base::Result<>> open();
  // On cores[0], at the start and after a reload.
  void apply(const EdgeConfig& config);

 private:
  EdgeParts parts_;
};

}  // namespace ron::edge
