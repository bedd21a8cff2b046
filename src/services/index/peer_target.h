// PeerTarget: another svc-index, asked only for what it has itself, so that no question goes round
// in circles.
#pragma once

#include "http/client.h"
#include "http/upstream_address.h"
#include "services/index/target.h"

namespace ron::index {

class PeerTarget final : public Target {
 public:
  PeerTarget(http::Client& client, http::UpstreamAddress peer);

  [[nodiscard]] TargetKind kind() const noexcept override { return TargetKind::Peer; }
  // GET /providers/{addr}?local=1 for a list as record_list.h has it; 404 is an empty one.
  platform::Task<base::Result<void>> find(base::ObjectId addr, Finds* finds,
                                          runtime::Deadline deadline) override;
  // PUT /providers/{addr}: the record's own signature is what allows it.
  platform::Task<base::Result<void>> publish(catalog::ProviderRecord record,
                                             runtime::Deadline deadline) override;

 private:
  http::Client& client_;
  const http::UpstreamAddress peer_;
};

}  // namespace ron::index
