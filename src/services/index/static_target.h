// StaticTarget: a server of the configured list, which is asked whether it has the object itself.
#pragma once

#include "http/client.h"
#include "http/upstream_address.h"
#include "services/index/target.h"

namespace ron::index {

class StaticTarget final : public Target {
 public:
  StaticTarget(http::Client& client, http::UpstreamAddress server);

  [[nodiscard]] TargetKind kind() const noexcept override { return TargetKind::Static; }
  // HEAD /o/{addr}. What it offers is made here, and signed by nobody: the configuration vouches
  // for the server, and the address for the bytes. Such a record is never handed on.
  platform::Task<base::Result<void>> find(base::ObjectId addr, Finds* finds,
                                          runtime::Deadline deadline) override;
  // Nothing: it is a server of objects, not of records.
  platform::Task<base::Result<void>> publish(catalog::ProviderRecord record,
                                             runtime::Deadline deadline) override;

 private:
  http::Client& client_;
  const http::UpstreamAddress server_;
};

}  // namespace ron::index
