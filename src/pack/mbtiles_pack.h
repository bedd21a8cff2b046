// MbtilesPack: an MBTiles file as a Pack. Whatever asks SQLite runs on the blocking pool.
#pragma once

#include <memory>

#include "pack/mbtiles_database.h"
#include "pack/pack.h"
#include "pack/verified_file.h"
#include "platform/blocking.h"

namespace ron::pack {

// Immutable; any core.
class MbtilesPack final : public Pack {
 public:
  MbtilesPack(platform::BlockingPool& blocking, std::shared_ptr<VerifiedFile> file,
              std::shared_ptr<MbtilesDatabase> database);

  [[nodiscard]] const Info& info() const noexcept override { return info_; }
  platform::Task<base::Result<std::optional<Tile>>> tile(Zxy at,
                                                         runtime::Deadline deadline) override;
  platform::Task<base::Result<base::Buffer>> read(std::uint64_t offset, std::uint64_t length,
                                                  runtime::Deadline deadline) override;

 private:
  platform::BlockingPool& blocking_;
  std::shared_ptr<VerifiedFile> file_;
  std::shared_ptr<MbtilesDatabase> database_;
  Info info_;
};

}  // namespace ron::pack
