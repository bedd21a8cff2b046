// LocalApi: svc-registry as the other services of its process see it.
#pragma once

#include <memory>
#include <string>

#include "services/registry/api/api.h"
#include "services/registry/core.h"

namespace ron::registry {

// Any core. The core outlives it.
class LocalApi final : public registry_api::RegistryApi {
 public:
  explicit LocalApi(Core& core) : core_(core) {}

  platform::Task<base::Result<std::shared_ptr<const registry_api::Directory>>> directory(
      std::string type, runtime::Deadline deadline) override;
  platform::Task<base::Result<registry_api::Head>> changed(registry_api::Head seen,
                                                           runtime::Deadline deadline,
                                                           runtime::Shutdown shutdown) override;

 private:
  Core& core_;
};

}  // namespace ron::registry
