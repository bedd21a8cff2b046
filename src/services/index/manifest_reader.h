// What a manifest in storage comes to.
#pragma once

#include <optional>

#include "base/object_id.h"
#include "base/result.h"
#include "platform/blocking.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "services/index/entries.h"
#include "services/storage/api/api.h"

namespace ron::index {

// About 300,000 files. What is larger takes longer than a request may.
inline constexpr std::uint64_t kMostManifestBytes = 64 * base::kMiB;

// Nothing when storage does not have it, or when it is too large to be looked at. Malformed when it
// is no manifest. Cancel-safe.
platform::Task<base::Result<std::optional<ManifestFacts>>> read_manifest(
    storage_api::StorageApi* storage, platform::BlockingPool* blocking, base::ObjectId address,
    runtime::Deadline deadline);

}  // namespace ron::index
