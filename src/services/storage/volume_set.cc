#include "services/storage/volume_set.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace ron::storage {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using volume::Volume;

void VolumeSet::adopt(std::vector<std::unique_ptr<Volume>> volumes) {
  volumes_ = std::move(volumes);
}

Task<Result<LocatedObject>> VolumeSet::locate(base::ObjectId id, runtime::Deadline deadline) {
  base::Error why(Code::NotFound, "no object is stored under this address");
  for (const auto& volume : volumes_) {
    Result<volume::ObjectHandle> found = co_await volume->locate(id, deadline);
    if (found) co_return LocatedObject{volume.get(), std::move(*found), 0};
    if (found.error().code != Code::NotFound) why = std::move(found.error());
  }
  co_return fail(std::move(why));
}

Task<Volume*> VolumeSet::for_put(base::ObjectId id, std::string tenant,
                                 runtime::Deadline deadline) {
  Volume* there = nullptr;
  if (volumes_.size() > 1) {
    for (const auto& volume : volumes_) {
      const Result<volume::ObjectHandle> found = co_await volume->locate(id, deadline);
      if (!found) continue;
      const Result<bool> held = co_await volume->holds(id, tenant, deadline);
      if (held && *held) co_return volume.get();
      if (there == nullptr) there = volume.get();
    }
  }
  co_return there != nullptr ? there : most_free();
}

Task<Result<bool>> VolumeSet::holds(base::ObjectId id, std::string tenant,
                                    runtime::Deadline deadline) {
  for (const auto& volume : volumes_) {
    const Result<bool> held = co_await volume->holds(id, tenant, deadline);
    if (!held || *held) co_return held;
  }
  co_return false;
}

Task<Result<volume::Holders>> VolumeSet::holders(base::ObjectId id, std::size_t most,
                                                 runtime::Deadline deadline) {
  volume::Holders all;
  base::Error why(Code::NotFound, "no object is stored under this address");
  bool any = false;
  for (const auto& volume : volumes_) {
    const Result<volume::Holders> some = co_await volume->holders(id, most, deadline);
    if (!some) {
      if (some.error().code != Code::NotFound) why = some.error();
      continue;
    }
    any = true;
    all.more = all.more || some->more;
    all.tenants.insert(all.tenants.end(), some->tenants.begin(), some->tenants.end());
  }
  if (!any) co_return fail(std::move(why));
  std::ranges::sort(all.tenants);
  const auto repeated = std::ranges::unique(all.tenants);
  all.tenants.erase(repeated.begin(), repeated.end());
  all.more = all.more || all.tenants.size() > most;
  if (all.tenants.size() > most) all.tenants.resize(most);
  co_return all;
}

Volume* VolumeSet::most_free() const {
  if (volumes_.size() == 1) return volumes_.front().get();
  Volume* best = nullptr;
  std::tuple<bool, std::uint64_t> best_room;
  for (const auto& volume : volumes_) {
    const std::tuple room(volume->health().writable, volume->stats().free_bytes);
    if (best != nullptr && room <= best_room) continue;
    best = volume.get();
    best_room = room;
  }
  return best;
}

Task<Result<UploadOnVolume>> VolumeSet::find_upload(volume::UploadId id,
                                                    runtime::Deadline deadline) {
  base::Error why(Code::NotFound, "there is no such upload");
  for (const auto& volume : volumes_) {
    Result<volume::UploadState> found = co_await volume->find_upload(id, deadline);
    if (found) co_return UploadOnVolume{volume.get(), std::move(*found)};
    if (found.error().code != Code::NotFound) why = std::move(found.error());
  }
  co_return fail(std::move(why));
}

Task<Result<std::vector<Volume::Listed>>> VolumeSet::list(std::optional<base::ObjectId> after,
                                                          std::size_t limit,
                                                          runtime::Deadline deadline) {
  std::vector<Volume::Listed> all;
  for (const auto& volume : volumes_) {
    const Result<std::vector<Volume::Listed>> some = co_await volume->list(after, limit, deadline);
    if (!some) co_return fail(some.error());
    all.insert(all.end(), some->begin(), some->end());
  }
  std::ranges::sort(all, {}, &Volume::Listed::id);
  const auto repeated = std::ranges::unique(all, {}, &Volume::Listed::id);
  all.erase(repeated.begin(), repeated.end());
  if (all.size() > limit) all.resize(limit);
  co_return all;
}

volume::Usage VolumeSet::usage(std::string_view tenant) const {
  volume::Usage sum;
  for (const auto& volume : volumes_) {
    const volume::Usage one = volume->usage(tenant);
    sum.bytes += one.bytes;
    sum.objects += one.objects;
  }
  return sum;
}

volume::TenantUsage VolumeSet::tenants(std::size_t most) const {
  volume::TenantUsage sum;
  if (volumes_.size() == 1) return volumes_.front()->tenants(most);
  std::set<std::string> names;
  volume::Usage all;
  for (const auto& volume : volumes_) {
    const volume::TenantUsage one = volume->tenants(most);
    all.bytes += one.all.bytes;
    all.objects += one.all.objects;
    for (const volume::TenantUsage::Tenant& tenant : one.largest) names.insert(tenant.name);
  }
  for (const std::string& name : names) sum.add(name, usage(name), most);
  sum.all = all;
  return sum;
}

volume::VolumeStats VolumeSet::totals() const {
  volume::VolumeStats sum;
  for (const auto& volume : volumes_) {
    const volume::VolumeStats one = volume->stats();
    sum.objects += one.objects;
    sum.object_bytes += one.object_bytes;
    sum.stored_bytes += one.stored_bytes;
    sum.dead_bytes += one.dead_bytes;
    sum.segments += one.segments;
    sum.free_bytes += one.free_bytes;
    sum.uploads += one.uploads;
    sum.quarantined += one.quarantined;
    sum.index_bytes += one.index_bytes;
    sum.unreadable_bytes += one.unreadable_bytes;
  }
  return sum;
}

}  // namespace ron::storage
