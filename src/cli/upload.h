// Uploading what is larger than one request: parts side by side, in any order for the server, each
// read and hashed once, and the server's address compared with ours at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/object_id.h"
#include "base/result.h"
#include "cli/session.h"
#include "cli/upload_state.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::cli {

struct Upload {
  platform::File* file = nullptr;
  std::uint64_t length = 0;  // more than one part
  // Where the upload's id is kept for the next try; none: it is not continued.
  const UploadStates* states = nullptr;
  UploadKey key;
};

// PreconditionFailed, for people.
base::Error file_changed();

// Everything is read; the last chance to say that it was not one version of the file.
using StillSame = std::move_only_function<platform::Task<base::Result<void>>()>;

// The object's address once it is published. PreconditionFailed if the file is not what it was:
// nothing is published then. After other failures a later call with the same key continues.
// Cancel-safe, with the same effect.
platform::Task<base::Result<base::ObjectId>> upload(Session* session, Upload what,
                                                    StillSame still_same);

}  // namespace ron::cli
