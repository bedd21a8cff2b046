// What each command comes to, given the index and the commands before it in the batch. Reads the
// index, and for the commit of a small upload its part; writes nothing.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "platform/task.h"
#include "volume/batch.h"
#include "volume/commands.h"
#include "volume/state.h"

namespace ron::volume {

enum class Planned : std::uint8_t {
  Done,      // in the batch, its answer too
  Deferred,  // it needs what this batch has yet to write: plan it again in the next
};

// What is wrong with a command is its answer; an error here is the index's, and the batch is worth
// nothing. The command is left alone when it is deferred. For the writer only.
platform::Task<base::Result<Planned>> plan(VolumeState* state, Batch* batch, Command* command);

}  // namespace ron::volume
