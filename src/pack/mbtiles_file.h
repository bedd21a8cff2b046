// MBTiles as a file among others: what its writer may have left beside it.
#pragma once

#include <string>

#include "base/result.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::pack {

// A database whose writer has not finished is more than its file: what was written last is in
// PATH-wal, or what must be taken back is in PATH-journal. Neither is read by us, so Malformed when
// there is one of them and the file begins as SQLite. Reads next to nothing. The errors of Disk.
// Cancel-safe.
platform::Task<base::Result<void>> check_journals(platform::Disk* disk, std::string path);

}  // namespace ron::pack
