// What other services may ask of svc-index, in the same process or over HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "catalog/name.h"
#include "catalog/provider_record.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::index_api {

// What a name stands for.
struct NamedTarget {
  base::ObjectId target;
  std::uint64_t version = 0;
  std::string type;
  friend bool operator==(const NamedTarget&, const NamedTarget&) = default;
};

// Any core. Errors are those of the contract's table; Busy when the queue is full, Draining once a
// stop was asked for.
class IndexApi {
 public:
  IndexApi() = default;
  IndexApi(const IndexApi&) = delete;
  IndexApi& operator=(const IndexApi&) = delete;
  virtual ~IndexApi() = default;

  // Records of this node, signed: what it has and until when. Durable when it returns; how many
  // were new or newer. Cancel-safe: an aborted one may have happened.
  virtual platform::Task<base::Result<std::size_t>> announce(
      std::vector<catalog::ProviderRecord> records, runtime::Deadline deadline) = 0;

  // NotFound when there is no such name or version. Cancel-safe.
  virtual platform::Task<base::Result<NamedTarget>> look_up(catalog::NameRef name,
                                                            runtime::Deadline deadline) = 0;
};

}  // namespace ron::index_api
