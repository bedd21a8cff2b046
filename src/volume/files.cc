#include "volume/files.h"

#include <utility>

namespace ron::volume {

using base::Result;
using platform::Task;

Task<Result<void>> replace_file(platform::Disk* disk, std::string directory, std::string name,
                                base::Buffer bytes) {
  const std::string path = directory + "/" + name;
  auto file = co_await disk->open(path + ".new", {platform::OpenMode::CreateOrOpen, false});
  if (!file) co_return base::fail(std::move(file.error()));
  auto emptied = co_await (*file)->truncate(0);
  if (!emptied) co_return emptied;
  auto written = co_await (*file)->write_at(0, std::move(bytes));
  if (!written) co_return base::fail(std::move(written.error()));
  auto synced = co_await (*file)->sync();
  if (!synced) co_return synced;
  auto renamed = co_await disk->rename(path + ".new", path);
  if (!renamed) co_return renamed;
  auto named = co_await disk->sync_directory(directory);
  co_return named;
}

}  // namespace ron::volume
