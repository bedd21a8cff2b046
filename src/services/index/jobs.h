// What goes through `writes` and `work`: each job carries what its task needs and the reply it
// owes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ulid.h"
#include "catalog/name.h"
#include "services/index/answer.h"
#include "services/index/entries.h"
#include "services/kit/job.h"

namespace ron::index {

// Who asked, for those who keep account.
struct Origin {
  base::Ulid corr_id{};
  std::string token{};   // its fingerprint
  std::string tenant{};  // empty: nobody in particular
  bool is_admin = false;
};

// A name is to stand for something else, or for nothing any more.
struct NameSet {
  NameVersion version;
  bool is_new = false;      // the name was not there before
  bool has_changed = true;  // false: it said the same already
};
struct SetNameJob : kit::JobBase<NameSet> {
  NameVersion wanted;                     // without version and time
  std::optional<std::uint64_t> expected;  // the version that is to be replaced; 0: none
  std::optional<ManifestFacts> manifest;  // of what is at the target, if it is one
  Origin origin;
};

// Records whose signatures were verified.
struct Announced {
  std::size_t accepted = 0;
  std::size_t stale = 0;    // of a lower `seq` than one that is known
  std::size_t expired = 0;  // without one that they could withdraw
  std::size_t crowded = 0;  // of nodes for whom the address has no room
};
struct AnnounceJob : kit::JobBase<Announced> {
  std::vector<ProviderEntry> providers;
  Origin origin;
};

// The same of what others said. Nobody waits for it.
struct LearnJob : AnnounceJob {
  static constexpr bool kUnwatched = true;
};

struct PinJob : kit::JobBase<bool> {  // whether that changed anything
  std::string key;
  bool is_pinned = true;
  Origin origin;
};
struct ManifestJob : kit::JobBase<bool> {
  base::ObjectId address;
  ManifestFacts facts;
};
// Providers that are of no use any more go; how many went.
struct PruneJob : kit::JobBase<std::size_t> {
  std::uint64_t now_ms = 0;
};

using WriteJob = std::variant<SetNameJob, AnnounceJob, LearnJob, PinJob, ManifestJob, PruneJob>;

// The way to an answer that the cache does not have.
struct ResolveJob : kit::JobBase<AnswerPtr> {
  catalog::Key key;
  bool is_fresh = false;  // ask others, whatever is known here
};
using ResolverJob = std::variant<ResolveJob>;

}  // namespace ron::index
