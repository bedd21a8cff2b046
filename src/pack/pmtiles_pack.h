// PmtilesPack: a PMTiles file as a Pack. A tile is a lookup in memory and one verified read.
#pragma once

#include <memory>
#include <utility>

#include "pack/pack.h"
#include "pack/pmtiles_index.h"
#include "pack/verified_file.h"

namespace ron::pack {

// Immutable; any core.
class PmtilesPack final : public Pack {
 public:
  PmtilesPack(std::shared_ptr<VerifiedFile> file, PmtilesIndex index);

  [[nodiscard]] const Info& info() const noexcept override { return info_; }
  platform::Task<base::Result<std::optional<Tile>>> tile(Zxy at,
                                                         runtime::Deadline deadline) override;
  platform::Task<base::Result<base::Buffer>> read(std::uint64_t offset, std::uint64_t length,
                                                  runtime::Deadline deadline) override;

 private:
  std::shared_ptr<VerifiedFile> file_;
  PmtilesIndex index_;
  Info info_;
};

}  // namespace ron::pack
