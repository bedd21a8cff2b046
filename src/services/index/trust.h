// Trust: which provider records of others count. One that does not is never returned, whoever hands
// it to us.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "auth/ed25519.h"
#include "base/object_id.h"
#include "base/units.h"
#include "catalog/provider_record.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/lock.h"
#include "runtime/meter.h"

namespace ron::index {

struct TrustPolicy {
  bool anyone = false;  // whoever signs; else only the nodes below
  std::set<auth::PublicKey> nodes{};
  base::Duration max_ttl = std::chrono::hours(48);  // further ahead no record may expire
};

// Why a record does not count; in the order of metrics::kDoubts.
enum class Doubt : std::uint8_t {
  OtherAddress,
  Expired,
  TooLong,
  Foreign,
  Forged,
  Replayed,
  TooMany,
};

// What can be said of a record without its signature and without memory.
std::optional<Doubt> doubt(const catalog::ProviderRecord& record, const base::ObjectId& addr,
                           const TrustPolicy& policy, std::int64_t now_ms);

// HighestSeqs: the newest record that was seen of each node and address, so that an older one does
// not come back. Bounded: the pair that was noted first is forgotten first. Any thread.
class HighestSeqs {
 public:
  static constexpr std::size_t kMost = 32'768;

  explicit HighestSeqs(std::size_t most = kMost);

  // False if a newer one is known; else this one is now.
  bool note(const catalog::ProviderRecord& record);

 private:
  using Key = std::pair<base::ObjectId, auth::PublicKey>;

  const std::size_t most_;
  runtime::Lock lock_;
  std::map<Key, std::uint64_t> seqs_;  // guarded by lock_
  std::vector<Key> order_;             // a ring of the same keys; guarded by lock_
  std::size_t oldest_ = 0;             // of the ring, once it is full; guarded by lock_
};

// Any thread; waits on the executor of the caller.
class Trust {
 public:
  // Signatures verified for one lane of one search; what is beyond it does not count.
  static constexpr std::size_t kMaxVerified = 32;

  Trust(platform::Host host, runtime::Meters& meters, TrustPolicy policy);
  Trust(const Trust&) = delete;
  Trust& operator=(const Trust&) = delete;

  // Whether records of this node count if they are genuine.
  [[nodiscard]] bool knows(const auth::PublicKey& node) const;
  // The same, or anyone is believed who signs.
  [[nodiscard]] bool believes(const auth::PublicKey& node) const;
  // From now on. Swapped whole.
  void set(TrustPolicy policy);

  // Those of the records for this address that count: of each node the newest. `verified` counts
  // what the lane has cost so far. Signatures are verified on the blocking pool; if that is stuck,
  // none counts. Cancel-safe.
  platform::Task<std::vector<catalog::ProviderRecord>> sift(
      base::ObjectId addr, std::vector<catalog::ProviderRecord> records, std::size_t* verified);

  // A record that counts for another reason, such as one that was announced here: older ones do not
  // any more. False if it is an older one itself.
  bool note(const catalog::ProviderRecord& record) { return seqs_.note(record); }

 private:
  [[nodiscard]] std::shared_ptr<const TrustPolicy> policy() const;
  void refuse(Doubt why);

  platform::Host host_;
  std::vector<runtime::Counter*> refused_;  // by Doubt
  HighestSeqs seqs_;
  mutable runtime::Lock lock_;
  std::shared_ptr<const TrustPolicy> policy_;  // guarded by lock_
};

}  // namespace ron::index
