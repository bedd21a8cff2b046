#include "pack/mbtiles_file.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/buffer.h"
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

// As many bytes as there are, `most` of them at most.
Task<Result<std::string>> first_bytes(platform::Disk* disk, std::string path, std::size_t most) {
  const auto file = co_await disk->open(std::move(path), {});
  if (!file) co_return base::fail(file.error());
  const auto bytes = co_await (*file)->read_at(0, base::Buffer(most));
  if (!bytes) co_return base::fail(bytes.error());
  co_return std::string(base::as_text(bytes->view()));
}

// A journal that is kept for the next time has zeros where it begins.
Task<Result<bool>> is_in_use(platform::Disk* disk, std::string journal) {
  const auto bytes = co_await length_of(disk, journal);
  if (!bytes) co_return base::fail(bytes.error());
  if (*bytes == 0) co_return false;
  const auto first = co_await first_bytes(disk, std::move(journal), 1);
  if (first) co_return !first->empty() && first->front() != '\0';
  if (first.error().code == Code::NotFound) co_return false;
  co_return base::fail(first.error());
}

// The end of the name of what has changes; empty when nothing has.
Task<Result<std::string_view>> journal_of(platform::Disk* disk, std::string path) {
  const auto wal = co_await length_of(disk, path + "-wal");
  if (!wal) co_return base::fail(wal.error());
  if (*wal != 0) co_return "-wal";
  const auto is_journal = co_await is_in_use(disk, path + "-journal");
  if (!is_journal) co_return base::fail(is_journal.error());
  co_return *is_journal ? "-journal" : "";
}

}  // namespace

Task<Result<void>> check_journals(platform::Disk* disk, std::string path) {
  const auto journal = co_await journal_of(disk, path);
  if (!journal) co_return base::fail(journal.error());
  if (journal->empty()) co_return Result<void>();
  const auto magic = co_await first_bytes(disk, std::move(path), kSqliteMagic.size());
  if (!magic) co_return base::fail(magic.error());
  if (*magic != kSqliteMagic) co_return Result<void>();
  co_return base::fail(Code::Malformed, "it has changes that are not in the file yet but in its " +
                                            std::string(*journal) + "; close its writer");
}

}  // namespace ron::pack
