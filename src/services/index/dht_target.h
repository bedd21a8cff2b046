// DhtTarget: a lane of the DHT, which is one OpenDHT REST proxy (`dhtnode --proxyserver`) and the
// keys of that lane.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/units.h"
#include "http/client.h"
#include "http/upstream_address.h"
#include "runtime/meter.h"
#include "services/index/target.h"

namespace ron::index {

class DhtTarget final : public Target {
 public:
  // Once there is a record that counts, others are waited for this long after the last one came. A
  // proxy sends what it knows at once, and its end only when every node it asked has answered or is
  // given up, after a second or more.
  static constexpr base::Duration kSettle = std::chrono::milliseconds(20);

  DhtTarget(http::Client& client, runtime::Meters& meters, std::uint8_t lane,
            http::UpstreamAddress proxy);

  [[nodiscard]] TargetKind kind() const noexcept override { return TargetKind::Dht; }
  platform::Task<base::Result<void>> find(base::ObjectId addr, Finds* finds,
                                          runtime::Deadline deadline) override;
  // The value expires after ten minutes unless it is published again; the same record again is the
  // same value.
  platform::Task<base::Result<void>> publish(catalog::ProviderRecord record,
                                             runtime::Deadline deadline) override;

 private:
  platform::Task<base::Result<void>> read(http::ClientResponse response, Finds* finds,
                                          runtime::Deadline deadline);

  http::Client& client_;
  const std::uint8_t lane_;
  const http::UpstreamAddress proxy_;
  runtime::Counter& skipped_;
};

}  // namespace ron::index
