// What goes through `work`: each job carries what its worker or loader is to do and the reply it
// owes.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/permit.h"
#include "services/edge/memory_tier.h"
#include "services/edge/wires.h"
#include "services/kit/job.h"

namespace ron::edge {

// How something that is not in memory comes there. On the loader's core; has deadlines of its own,
// since nobody's deadline ends what others may wait for, too.
using Make = std::move_only_function<platform::Task<base::Result<kit::RepresentationPtr>>()>;
struct LoadJob : kit::JobBase<kit::RepresentationPtr, kLoadLane> {
  MemoryKey key;
  Make make;
};

// How a URL is filled from its origin.
struct Filled;
using FilledPtr = std::shared_ptr<const Filled>;
using Fill = std::move_only_function<platform::Task<base::Result<FilledPtr>>()>;
struct FillJob : kit::JobBase<FilledPtr, kFillLane> {
  Fill fill;
  runtime::Limit::Permit place;  // among the fills that wait, until it is begun
};

using Job = std::variant<LoadJob, FillJob>;

}  // namespace ron::edge
