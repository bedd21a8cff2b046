#include "pack/mbtiles_file.h"

#include <algorithm>
#include <utility>

#include "pack/mbtiles_database.h"

namespace ron::pack {
namespace {

using base::Code;
using base::Result;
using platform::Task;

// Nothing where there is no file.
Task<Result<std::uint64_t>> length_of(platform::Disk* disk, std::string path) {
  const auto version = co_await disk->version(std::move(path));
  if (version) co_return version->bytes;
  if (version.error().code == Code::NotFound) co_return std::uint64_t{0};
  co_return base::fail(version.error());
}

// A journal that is kept for the next time has zeros where it begins.
Task<Result<bool>> is_in_use(platform::Disk* disk, std::string journal) {
  const auto bytes = co_await length_of(disk, journal);
  if (!bytes) co_return base::fail(bytes.error());
  if (*bytes == 0) co_return false;
  const auto file = co_await disk->open(journal, {});
  if (!file && file.error().code == Code::NotFound) co_return false;
  if (!file) co_return base::fail(file.error());
  const auto first = co_await (*file)->read_at(0, base::Buffer(1));
  if (!first) co_return base::fail(first.error());
  co_return first->size() != 0 && first->view().front() != std::byte{0};
}

std::unexpected<base::Error> unfinished(std::string_view where) {
  return base::fail(Code::Malformed, "it has changes that are not in the file yet but in its " +
                                         std::string(where) + "; close its writer");
}

}  // namespace

Task<Result<bool>> begins_as_sqlite(std::shared_ptr<VerifiedFile> file) {
  const std::uint64_t length = std::min<std::uint64_t>(kSqliteMagic.size(), file->size());
  const auto magic = co_await file->read(0, length, {});
  if (!magic) co_return base::fail(magic.error());
  co_return base::as_text(magic->view()) == kSqliteMagic;
}

Task<Result<void>> check_journals(platform::Disk* disk, std::string path) {
  const auto wal = co_await length_of(disk, path + "-wal");
  if (!wal) co_return base::fail(wal.error());
  if (*wal != 0) co_return unfinished("-wal");
  const auto journal = co_await is_in_use(disk, path + "-journal");
  if (!journal) co_return base::fail(journal.error());
  if (*journal) co_return unfinished("-journal");
  co_return Result<void>();
}

}  // namespace ron::pack
