// LocalApi: svc-storage for services of the same process, without a socket and without copies.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "services/storage/api/api.h"
#include "services/storage/core.h"

namespace ron::storage {

// Any executor. The core outlives it and whatever it hands out.
class LocalApi final : public storage_api::StorageApi {
 public:
  explicit LocalApi(Core& core) noexcept : core_(core) {}

  platform::Task<base::Result<storage_api::ObjectInfo>> stat(base::ObjectId id,
                                                             runtime::Deadline deadline) override;
  platform::Task<base::Result<storage_api::ObjectStream>> open(
      base::ObjectId id, std::optional<storage_api::Range> range,
      runtime::Deadline deadline) override;
  platform::Task<base::Result<storage_api::Stored>> put(storage_api::NewObject object,
                                                        storage_api::Call call) override;
  platform::Task<base::Result<void>> remove(base::ObjectId id, storage_api::Call call) override;
  platform::Task<base::Result<storage_api::UploadInfo>> begin_upload(
      storage_api::NewUpload upload, storage_api::Call call) override;
  platform::Task<base::Result<storage_api::UploadInfo>> stat_upload(
      storage_api::UploadId id, storage_api::Call call) override;
  platform::Task<base::Result<b3::ChainingValue>> put_part(storage_api::UploadId id,
                                                           std::uint64_t part, base::Buffer bytes,
                                                           storage_api::Call call) override;
  platform::Task<base::Result<storage_api::Stored>> commit_upload(storage_api::UploadId id,
                                                                  storage_api::Call call) override;
  platform::Task<base::Result<void>> abort_upload(storage_api::UploadId id,
                                                  storage_api::Call call) override;
  platform::Task<base::Result<std::vector<storage_api::ObjectInfo>>> list(
      std::optional<base::ObjectId> after, std::size_t limit, runtime::Deadline deadline) override;
  std::unique_ptr<storage_api::Changes> listen() override;

 private:
  Core& core_;
};

}  // namespace ron::storage
