// What other services may ask of svc-registry: what was agreed on, and to hear when that changes.
//
// `app` hands them the registry of the same process, or one that speaks HTTP to another machine's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "base/value.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/shutdown.h"

namespace ron::registry_api {

// RegistryUpdated: HEAD as of some moment.
struct Head {
  std::uint64_t version = 0;
  base::ObjectId hash;
  friend bool operator==(const Head&, const Head&) = default;
};

// A node, service, region or placement. `value` has its fields, `type` and `id` included.
struct Descriptor {
  std::string type;
  std::string id;
  base::Value value;
};

// All descriptors of one type as of one version. Immutable.
struct Directory {
  Head head;
  std::vector<std::shared_ptr<const Descriptor>> descriptors;  // by id
};

// Any core.
class RegistryApi {
 public:
  RegistryApi() = default;
  RegistryApi(const RegistryApi&) = delete;
  RegistryApi& operator=(const RegistryApi&) = delete;
  virtual ~RegistryApi() = default;

  // `type` is node, service, region or placement; Malformed otherwise. Cancel-safe.
  virtual platform::Task<base::Result<std::shared_ptr<const Directory>>> directory(
      std::string type, runtime::Deadline deadline) = 0;

  // HEAD once it is another one than `seen`; at once if it is. Versions in between are skipped:
  // whoever follows asks for the directory as it is then. Timeout, or Canceled when a stop is
  // requested. Cancel-safe.
  virtual platform::Task<base::Result<Head>> changed(Head seen, runtime::Deadline deadline,
                                                     runtime::Shutdown shutdown) = 0;
};

}  // namespace ron::registry_api
