// What goes through `work`: each job carries what its worker is to do and the reply it owes.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "base/result.h"
#include "platform/task.h"
#include "services/edge/memory_tier.h"
#include "services/kit/job.h"

namespace ron::edge {

// How something that is not in memory comes there. On the worker's core; has deadlines of its own,
// since nobody's deadline ends what others may wait for, too.
using Make = std::move_only_function<platform::Task<base::Result<kit::RepresentationPtr>>()>;
struct LoadJob : kit::JobBase<kit::RepresentationPtr> {
  MemoryKey key;
  Make make;
};

// How a URL is filled from its origin.
struct Asset;
using AssetPtr = std::shared_ptr<const Asset>;
using Fill = std::move_only_function<platform::Task<base::Result<AssetPtr>>()>;
struct FillJob : kit::JobBase<AssetPtr> {
  Fill fill;
};

using Job = std::variant<LoadJob, FillJob>;

}  // namespace ron::edge
