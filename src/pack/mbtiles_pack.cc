#include "pack/mbtiles_pack.h"

#include <utility>

#include "runtime/within.h"

namespace ron::pack {

using base::Result;
using platform::Task;

namespace {

// Within the request's deadline.
constexpr platform::BlockingKind kFindTile{"find_tile", platform::kCallersBudget};

}  // namespace

MbtilesPack::MbtilesPack(platform::BlockingPool& blocking, std::shared_ptr<VerifiedFile> file,
                         std::shared_ptr<MbtilesDatabase> database)
    : blocking_(blocking),
      file_(std::move(file)),
      database_(std::move(database)),
      info_(database_->info()) {
  info_.hash = file_->hash();
  info_.memory_bytes += file_->memory_bytes() + info_.metadata.capacity();
}

Task<Result<std::optional<Tile>>> MbtilesPack::tile(Zxy at, runtime::Deadline deadline) {
  if (at.z < info_.min_zoom || at.z > info_.max_zoom) co_return std::nullopt;
  auto found = co_await runtime::within(
      deadline, blocking_.run(kFindTile, [database = database_, at](const base::StopToken& stop) {
        return database->find(at, stop);
      }));
  if (!found) co_return base::fail(std::move(found.error()));
  // The request is not to blame for what the file says.
  if (!*found && found->error().code == base::Code::Malformed) {
    co_return base::fail(base::Code::IntegrityFail, std::move(found->error().message));
  }
  co_return std::move(*found);
}

Task<Result<base::Buffer>> MbtilesPack::read(std::uint64_t offset, std::uint64_t length,
                                             runtime::Deadline deadline) {
  return read_some(file_, offset, length, deadline);
}

}  // namespace ron::pack
