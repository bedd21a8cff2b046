// HttpOrigin: another machine's ron as the origin of sites, for `ron edge` alone.
//
// It is asked like by any other client and trusted with nothing: an object is read whole and its
// address compared before a byte of it leaves, also when only a part is wanted. So there is a
// largest object, fill.max_object_bytes, and only a few large ones are in memory at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "http/client.h"
#include "http/upstream_address.h"
#include "platform/host.h"
#include "platform/tls.h"
#include "runtime/meter.h"
#include "runtime/permit.h"
#include "runtime/watch.h"
#include "services/edge/config.h"
#include "services/edge/origin.h"
#include "services/index/api/http_index.h"

namespace ron::edge {

struct HttpOriginParts {
  platform::Host host;
  http::UpstreamAddress address;
  std::string token;                                 // empty: it shows none
  std::shared_ptr<const platform::TlsClient> trust;  // null: no https origin can be asked
  runtime::Meters* meters;                           // outlives it
  const runtime::Watch<SettingsPtr>* settings;       // outlives it, too
};

// Made on cores[0].
class HttpOrigin final : public Origin {
 public:
  // Objects of more than base::limits::kDecodedBytes that are in memory at once; who comes later
  // waits until one has been sent.
  static constexpr std::size_t kLargeAtOnce = 4;

  explicit HttpOrigin(HttpOriginParts parts);

  // Errors besides StorageApi's: UpstreamFail, IntegrityFail when the bytes have another address,
  // BodyCap when it is larger than may be.
  platform::Task<base::Result<index_api::NamedTarget>> look_up(catalog::NameRef name,
                                                               runtime::Deadline deadline) override;
  platform::Task<base::Result<storage_api::ObjectStream>> open(
      base::ObjectId address, std::optional<storage_api::Range> range,
      runtime::Deadline deadline) override;
  [[nodiscard]] bool has_parts() const noexcept override { return false; }
  platform::Task<void> dial(std::size_t core, runtime::Shutdown shutdown) override;

 private:
  struct Whole {
    base::Buffer bytes;
    runtime::Semaphore::Permit place;  // of a large one
  };
  struct Loop {
    Loop(platform::Executor& executor, const HttpOriginParts& parts);
    platform::Executor& home;
    http::Client client;
  };
  class WholeSource;

  [[nodiscard]] http::Client& here();
  platform::Task<base::Result<Whole>> fetch(base::ObjectId address, runtime::Deadline deadline);

  const http::UpstreamAddress address_;
  const std::string authorization_;
  const runtime::Watch<SettingsPtr>& settings_;
  platform::BlockingPool& blocking_;
  runtime::Semaphore large_{kLargeAtOnce};
  index_api::HttpIndex index_;
  std::vector<std::unique_ptr<Loop>> loops_;  // of each core
};

}  // namespace ron::edge
