// Target: somebody who may know who has an object. A proxy of the DHT, another index, a server of
// the static list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "catalog/provider_record.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::index {

enum class TargetKind : std::uint8_t { Dht, Peer, Static };

// Where a target puts what it hears, while it hears it: a proxy may name a provider at once and be
// silent for a second before it says that there is no other.
class Finds {
 public:
  Finds() = default;
  Finds(const Finds&) = delete;
  Finds& operator=(const Finds&) = delete;
  virtual ~Finds() = default;

  // The head of an answer is there: the target is alive, whatever it goes on to say.
  virtual void begun() noexcept = 0;
  // True when one of all that were offered so far counts. Cancel-safe.
  virtual platform::Task<bool> offer(std::vector<catalog::ProviderRecord> records) = 0;
};

// One executor: every core has a set of its own. Outlives what it was asked for.
class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  [[nodiscard]] virtual TargetKind kind() const noexcept = 0;

  // Success says that it has answered, be it without a record; what it gave went to `finds`.
  // UpstreamFail before finds->begun() may be tried again: nothing was heard yet. Later it is an
  // answer that breaks the rules, or breaks off. Timeout, Busy, Canceled as http::Client.
  // Cancel-safe: aborting closes the connection.
  virtual platform::Task<base::Result<void>> find(base::ObjectId addr, Finds* finds,
                                                  runtime::Deadline deadline) = 0;
  // Hands on a record of ours. Errors as above; NotAllowed if it does not want the record.
  // Cancel-safe.
  virtual platform::Task<base::Result<void>> publish(catalog::ProviderRecord record,
                                                     runtime::Deadline deadline) = 0;
};

}  // namespace ron::index
