// The file of a directory whose lock says that a process uses it, and whose contents say what the
// directory is.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::volume {

// Locked until the file is closed.
struct Claim {
  std::shared_ptr<platform::File> file;
  bool is_new = false;  // the directory has no such file yet: see name_claim
};

// Locks the file, or what will be it. PreconditionFailed with the words of `in_use` when another
// process has it. Cancel-safe.
platform::Task<base::Result<Claim>> claim_file(platform::Disk* disk, std::string path,
                                               std::string in_use);
// The same without the right to change anything, which several may have; NotFound if the file is
// not there. Cancel-safe.
platform::Task<base::Result<std::shared_ptr<platform::File>>> claim_shared(platform::Disk* disk,
                                                                           std::string path,
                                                                           std::string in_use);
// Gives a new claim its contents and then its name, durably. Cancel-safe: it can be done again.
platform::Task<base::Result<void>> name_claim(platform::Disk* disk, std::string directory,
                                              std::string name,
                                              std::shared_ptr<platform::File> file,
                                              std::string text);

}  // namespace ron::volume
