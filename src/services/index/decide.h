// What comes of a write: the rules for names, providers and pins, on top of what is kept. They
// change nothing but the draft, and that only if they let the job through.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "platform/task.h"
#include "services/index/draft.h"
#include "services/index/jobs.h"

namespace ron::index {

struct WriteRules {
  std::uint64_t names_per_tenant = 0;  // 0: no limit
};

// VersionSkew when it is not the version that was expected; Forbidden for another tenant's name;
// Quota; NotFound when a name is to be removed that is not there. Cancel-safe, as all of them.
platform::Task<base::Result<NameSet>> decide(Draft* draft, const SetNameJob* job, WriteRules rules,
                                             std::int64_t now_ms);
platform::Task<base::Result<Announced>> decide(Draft* draft, const AnnounceJob* job,
                                               std::int64_t now_ms);
platform::Task<base::Result<bool>> decide(Draft* draft, const PinJob* job);
platform::Task<base::Result<bool>> decide(Draft* draft, const ManifestJob* job);
// At most kPruned of them.
platform::Task<base::Result<std::size_t>> decide(Draft* draft, const PruneJob* job,
                                                 platform::KeyValue* map);
inline constexpr std::size_t kPruned = 1000;

}  // namespace ron::index
