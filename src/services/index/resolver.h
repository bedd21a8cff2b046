// Resolver: the way from a key to an answer that the cache does not have. Name, manifest and
// providers from the store; if nobody is known there, others are asked; the best come first.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/name.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"
#include "runtime/watch.h"
#include "services/index/answer.h"
#include "services/index/cache_feed.h"
#include "services/index/config.h"
#include "services/index/epochs.h"
#include "services/index/store.h"

namespace ron::index {

using SettingsPtr = std::shared_ptr<const IndexConfig>;

// What others said.
struct Discovered {
  std::vector<Provider> providers{};  // with what is known of each
  Source source = Source::Dht;
  std::string winner{};
  bool is_hedged = false;
};
// Asks others who has an object, on the core that calls. NotFound: nobody. Cancel-safe.
using Discover =
    std::function<platform::Task<base::Result<Discovered>>(base::ObjectId, runtime::Deadline)>;
// Puts the best first.
using Rank = std::function<void(std::vector<Provider>&)>;
// Whether what a node said, and was remembered, still counts.
using IsTrusted = std::function<bool(const auth::PublicKey& node)>;
// Has what others said remembered, so that an older record does not count later. Never waits.
using Learn = std::function<void(const std::vector<Provider>&)>;

// All of it outlives it.
struct ResolverParts {
  platform::Host host;
  runtime::Topology* topology;
  Store* store;
  const Epochs* epochs;
  CacheFeed* cache_feed;
  runtime::Watch<SettingsPtr>* settings;
};

// Any core.
class Resolver {
 public:
  explicit Resolver(ResolverParts parts);
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Before it is used; without it nobody else is asked.
  void set_discover(Discover discover) { discover_ = std::move(discover); }
  void set_rank(Rank rank) { rank_ = std::move(rank); }
  void set_learn(Learn learn) { learn_ = std::move(learn); }
  void set_trust(IsTrusted is_trusted) { is_trusted_ = std::move(is_trusted); }

  // An answer that was not found is one, too. Timeout and BreakerOpen when others had to be asked
  // and did not say. Cancel-safe.
  platform::Task<base::Result<AnswerPtr>> resolve(catalog::Key key, bool is_fresh,
                                                  runtime::Deadline deadline);

 private:
  // A larger answer is not cached: the bound of the cache is a number of answers.
  static constexpr std::size_t kMostCachedBytes = 8 * base::kKiB;

  // Who was announced here counts; who was only heard of is a fallback, and keeps older records of
  // itself out.
  struct Known {
    std::vector<Provider> announced;
    std::vector<Provider> heard_of;
    std::map<auth::PublicKey, std::uint64_t> seqs;
  };
  platform::Task<base::Result<Known>> find_known(Answer* answer);
  // What others say; an error only if the answer is worth nothing without them.
  platform::Task<base::Result<void>> add_discovered(Answer* answer, Known* known,
                                                    runtime::Deadline deadline);
  AnswerPtr keep(std::shared_ptr<Answer> answer);
  void count(const base::Error& why);

  ResolverParts parts_;
  Discover discover_;
  Rank rank_;
  Learn learn_;
  IsTrusted is_trusted_;
  runtime::Histogram& took_;
  runtime::Counter& deadline_hits_;
  runtime::Counter& timeouts_;
};

}  // namespace ron::index
