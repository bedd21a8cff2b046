// LocalApi: svc-index as the other services of its process see it.
#pragma once

#include <vector>

#include "services/index/api/api.h"
#include "services/index/core.h"

namespace ron::index {

// Any core. The core outlives it.
class LocalApi final : public index_api::IndexApi {
 public:
  explicit LocalApi(Core& core) : core_(core) {}

  platform::Task<base::Result<std::size_t>> announce(std::vector<catalog::ProviderRecord> records,
                                                     runtime::Deadline deadline) override;
  platform::Task<base::Result<index_api::NamedTarget>> look_up(catalog::NameRef name,
                                                               runtime::Deadline deadline) override;

 private:
  Core& core_;
};

}  // namespace ron::index
