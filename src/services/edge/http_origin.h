// HttpOrigin: another machine's ron as the origin of sites, for `ron edge` alone.
//
// It is asked like by any other client and trusted with nothing: an object is read whole and its
// address compared before a byte of it leaves, also when only a part is wanted. A small one is kept
// meanwhile. Of a large one only what verifies its pieces is kept (verified_object.h), for those
// who ask for it later, too; they are then read again one by one, as the client takes them. So a
// slow reader holds a piece, whatever it reads. There is a largest object, fill.max_object_bytes.
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
#include "services/edge/verified_object.h"
#include "services/index/api/http_index.h"
#include "services/kit/fifo_cache.h"

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
  // Objects of more than base::limits::kDecodedBytes that are verified at once; who comes later
  // waits, and holds nothing of the origin's meanwhile.
  static constexpr std::size_t kVerifiedAtOnce = 4;
  // For what verifies them: 2 KiB for each 4 MiB.
  static constexpr std::uint64_t kKnownBytes = 8 * base::kMiB;

  explicit HttpOrigin(HttpOriginParts parts);

  // Errors besides StorageApi's: UpstreamFail, IntegrityFail when the bytes have another address,
  // BodyCap when it is larger than may be.
  platform::Task<base::Result<index_api::NamedTarget>> look_up(catalog::NameRef name,
                                                               runtime::Deadline deadline) override;
  platform::Task<base::Result<std::uint64_t>> stat(base::ObjectId address,
                                                   runtime::Deadline deadline) override;
  platform::Task<base::Result<storage_api::ObjectStream>> open(
      base::ObjectId address, std::optional<storage_api::Range> range,
      runtime::Deadline deadline) override;
  [[nodiscard]] bool has_parts() const noexcept override { return false; }
  platform::Task<void> dial(std::size_t core, runtime::Shutdown shutdown) override;

 private:
  struct Loop {
    Loop(platform::Executor& executor, const HttpOriginParts& parts);
    platform::Executor& home;
    http::Client client;
  };
  class WholeSource;
  class PieceSource;
  using Known = kit::FifoCache<base::ObjectId, VerifiedObject, base::ObjectIdHash>;

  [[nodiscard]] http::Client& here();
  // Answers of 200, or 206 with a range. UpstreamFail for any other, NotFound.
  platform::Task<base::Result<http::ClientResponse>> ask(http::Method method,
                                                         base::ObjectId address,
                                                         std::optional<storage_api::Range> range,
                                                         runtime::Deadline deadline);
  // How long the object is; BodyCap.
  [[nodiscard]] base::Result<std::uint64_t> length_of(const http::ClientResponse& response) const;
  // All of a small one.
  platform::Task<base::Result<base::Buffer>> read_small(base::ObjectId address,
                                                        http::ClientResponse response);
  // A large one, whose answer has begun.
  platform::Task<base::Result<VerifiedPtr>> verify(base::ObjectId address,
                                                   http::ClientResponse response,
                                                   runtime::Deadline deadline);
  // Whole groups of it; IntegrityFail.
  platform::Task<base::Result<base::Buffer>> read_piece(base::ObjectId address, VerifiedPtr object,
                                                        storage_api::Range piece,
                                                        runtime::Deadline deadline);
  platform::Task<base::Result<storage_api::ObjectStream>> open_pieces(
      base::ObjectId address, VerifiedPtr object, std::optional<storage_api::Range> range,
      runtime::Deadline deadline);

  const http::UpstreamAddress address_;
  const std::string authorization_;
  const runtime::Watch<SettingsPtr>& settings_;
  platform::BlockingPool& blocking_;
  runtime::Semaphore verifying_{kVerifiedAtOnce};
  Known known_;
  index_api::HttpIndex index_;
  std::vector<std::unique_ptr<Loop>> loops_;  // of each core
};

}  // namespace ron::edge
