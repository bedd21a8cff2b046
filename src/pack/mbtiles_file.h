// MBTiles as a file among others: how it begins, and what its writer may have left beside it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "pack/verified_file.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::pack {

// Whether it begins as a SQLite database. The errors of VerifiedFile::read. Cancel-safe.
platform::Task<base::Result<bool>> begins_as_sqlite(std::shared_ptr<VerifiedFile> file);

// A database whose writer has not finished is more than its file: what was written last is in
// PATH-wal, or what must be taken back is in PATH-journal. Both are nothing that we read, so
// Malformed when there is either. The errors of Disk. Cancel-safe.
platform::Task<base::Result<void>> check_journals(platform::Disk* disk, std::string path);

}  // namespace ron::pack
