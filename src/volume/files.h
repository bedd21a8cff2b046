// Steps of file handling that several parts of a store have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/result.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::volume {

// The file holds these bytes, durably, or what it held before. Cancel-safe in that sense.
platform::Task<base::Result<void>> replace_file(platform::Disk* disk, std::string directory,
                                                std::string name, base::Buffer bytes);
platform::Task<base::Result<void>> replace_file(platform::Disk* disk, std::string directory,
                                                std::string name, std::string_view text);

// The directory and a folder in it are there, and so durably are the names in both that an earlier
// process may have left unsynced. Its parent is there already. Cancel-safe.
platform::Task<base::Result<void>> make_directories(platform::Disk* disk, std::string directory,
                                                    std::string folder);
// Bytes of the file, shorter only at its end; without waiting if memory has them. Cancel-safe.
platform::Task<base::Result<base::Buffer>> read_bytes(std::shared_ptr<platform::File> file,
                                                      std::uint64_t offset, std::size_t bytes);
// Writes bytes [begin, end) of the file once more, to the same place: what a process that died has
// written may be readable without being on the medium, and if a sync of it has failed, syncing
// again would not change that. What cannot be read stays as it is. Cancel-safe.
platform::Task<base::Result<void>> rewrite_bytes(platform::File* file, std::uint64_t begin,
                                                 std::uint64_t end);

}  // namespace ron::volume
