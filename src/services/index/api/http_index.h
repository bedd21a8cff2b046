// HttpIndex: svc-index on another machine, asked over HTTP.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "http/upstream_address.h"
#include "platform/host.h"
#include "platform/tls.h"
#include "runtime/meter.h"
#include "services/index/api/api.h"

namespace ron::index_api {

struct HttpIndexParts {
  platform::Host host;
  http::UpstreamAddress address;
  std::string token;                                 // empty: it sends none
  std::shared_ptr<const platform::TlsClient> trust;  // null: no https index can be asked
  runtime::Meters* meters;                           // outlives it
};

// One executor, on which its connections live; one for each core that needs one.
class HttpIndex final : public IndexApi {
 public:
  // Records under way at once: they share the other side's syncs.
  static constexpr std::size_t kLanes = 16;

  explicit HttpIndex(HttpIndexParts parts);

  // Each record is a request of its own. After an error some of them may have been taken.
  platform::Task<base::Result<std::size_t>> announce(std::vector<catalog::ProviderRecord> records,
                                                     runtime::Deadline deadline) override;
  platform::Task<base::Result<NamedTarget>> look_up(catalog::NameRef name,
                                                    runtime::Deadline deadline) override;

 private:
  struct Batch {
    std::vector<catalog::ProviderRecord> records;
    std::size_t next = 0;  // the first that nobody sends
    std::size_t accepted = 0;
  };

  platform::Task<base::Result<void>> send_some(Batch* batch, runtime::Deadline deadline);
  [[nodiscard]] bool is_settled(const catalog::ProviderRecord& record, base::Code code) const;
  // The body of an answer that is no refusal.
  platform::Task<base::Result<std::string>> ask(http::Method method, std::string target,
                                                std::string body, runtime::Deadline deadline);

  const http::UpstreamAddress address_;
  const std::string authorization_;
  const platform::Clock& clock_;
  http::Client client_;
};

}  // namespace ron::index_api
