// Small files of a volume that are replaced as a whole.
#pragma once

#include <string>

#include "base/buffer.h"
#include "base/result.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::volume {

// The file holds these bytes, durably, or what it held before. Cancel-safe in that sense.
platform::Task<base::Result<void>> replace_file(platform::Disk* disk, std::string directory,
                                                std::string name, base::Buffer bytes);

}  // namespace ron::volume
