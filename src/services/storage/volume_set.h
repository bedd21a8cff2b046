// VolumeSet: the volumes of one service as one place for objects.
//
// An object is on one volume: a new one goes where most is free, and one that is there already goes
// to the volume that has it, for its tenant if possible. Uploads stay where they began. Two puts of
// the same new object at the same moment may leave it on two volumes; removing it removes both.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "platform/task.h"
#include "services/storage/cache.h"
#include "volume/volume.h"

namespace ron::storage {

// An object that was looked up: on which volume it is, and since when the memory tier may take it.
// Cheap to copy.
struct LocatedObject {
  volume::Volume* volume = nullptr;
  volume::ObjectHandle handle;
  ObjectCache::Ticket ticket = 0;

  [[nodiscard]] const base::ObjectId& id() const noexcept { return handle.id; }
  [[nodiscard]] std::uint64_t length() const noexcept { return handle.length; }
};
struct UploadOnVolume {
  volume::Volume* volume = nullptr;
  volume::UploadState state;
};

// Filled once before anything is asked; any executor from then on. Never empty when used. A
// deadline is for all volumes together.
class VolumeSet {
 public:
  VolumeSet() = default;
  VolumeSet(const VolumeSet&) = delete;
  VolumeSet& operator=(const VolumeSet&) = delete;

  void adopt(std::vector<std::unique_ptr<volume::Volume>> volumes);
  [[nodiscard]] const std::vector<std::unique_ptr<volume::Volume>>& all() const noexcept {
    return volumes_;
  }

  // NotFound only when every volume could say so. Cancel-safe.
  platform::Task<base::Result<LocatedObject>> locate(base::ObjectId id, runtime::Deadline deadline);
  // The volume a put of this object by this tenant goes to. Cancel-safe.
  platform::Task<volume::Volume*> for_put(base::ObjectId id, std::string tenant,
                                          runtime::Deadline deadline);
  // Whether the tenant holds the object somewhere. Cancel-safe.
  platform::Task<base::Result<bool>> holds(base::ObjectId id, std::string tenant,
                                           runtime::Deadline deadline);
  // The first `most` of those who hold it. NotFound when no volume has it. Cancel-safe.
  platform::Task<base::Result<volume::Holders>> holders(base::ObjectId id, std::size_t most,
                                                        runtime::Deadline deadline);
  // The writable volume with the most free bytes; the one with the most when none is writable, so
  // that it says why.
  [[nodiscard]] volume::Volume* most_free() const;
  // As locate. Cancel-safe.
  platform::Task<base::Result<UploadOnVolume>> find_upload(volume::UploadId id,
                                                           runtime::Deadline deadline);
  // In order of address, each once. Cancel-safe.
  platform::Task<base::Result<std::vector<volume::Volume::Listed>>> list(
      std::optional<base::ObjectId> after, std::size_t limit, runtime::Deadline deadline);

  [[nodiscard]] volume::Usage usage(std::string_view tenant) const;
  // Of several volumes: the largest among those that are large on one of them.
  [[nodiscard]] volume::TenantUsage tenants(std::size_t most) const;
  [[nodiscard]] volume::VolumeStats totals() const;

 private:
  std::vector<std::unique_ptr<volume::Volume>> volumes_;
};

}  // namespace ron::storage
