// What a seed of svc-index decides beforehand, besides what every service's does: the machines it
// asks and what is wrong with them, who is known to sign, and how its disk behaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "auth/ed25519.h"
#include "base/object_id.h"
#include "platform/sim/network.h"
#include "sim/harness/plan.h"

namespace ron::sim {

// What a proxy of the DHT does with a request. X(name, what is counted)
#define RON_SIM_PROXY_DEEDS(X)                             \
  X(Answer, "answered as they should")                     \
  X(Slow, "answered late")                                 \
  X(Dribble, "answered drop by drop")                      \
  X(Forget, "answered that there is nothing")              \
  X(Noise, "answered with values that are no records")     \
  X(Garbage, "answered with what is no JSON")              \
  X(EndlessLine, "answered with a line that does not end") \
  X(Unavailable, "answered with 500 or 503")               \
  X(Cut, "answered in part, then reset")                   \
  X(HangMidBody, "answered in part, then never")           \
  X(Hang, "never answered")                                \
  X(Reset, "reset")                                        \
  X(NoHttp, "answered with what is not HTTP")

enum class ProxyDeed : std::uint8_t {
#define RON_X(name, what) name,
  RON_SIM_PROXY_DEEDS(RON_X)
#undef RON_X
};
std::string_view text(ProxyDeed deed) noexcept;

struct ProxyPlan {
  std::uint64_t seed = 0;
  unsigned misdeeds = 0;  // percent of its requests
};

// Something done from outside to a machine that the index asks.
struct IndexOutage {
  enum class Kind : std::uint8_t {
    Kill,       // its connections are reset, further ones refused
    PowerCut,   // it goes dark without a word
    Partition,  // nothing passes between it and the index
    Freeze      // it neither reads nor writes; of a peer, a partition
  };
  Kind kind = Kind::Kill;
  std::size_t helper = 0;
  Duration at{};
  Duration lasts{};
};

inline constexpr std::uint16_t kProxyPort = 8100;
inline constexpr Ports kPeerPorts{8082, 9082};

struct IndexPlan : Plan {
  static constexpr std::size_t kNodes = 3;  // that are known
  static constexpr std::size_t kNames = 5;  // that clients want at once
  static constexpr std::size_t kAddresses = 12;

  std::vector<auth::SigningKey> nodes;
  std::vector<auth::SigningKey> strangers;  // one
  std::vector<base::ObjectId> addresses;
  std::vector<ProxyPlan> proxies;                 // the first helpers
  std::size_t peers = 0;                          // the rest of them: svc-index, too
  std::vector<platform::sim::LinkOptions> links;  // of each helper to the service
  std::vector<IndexOutage> outages;
  platform::sim::PerMillion fail_write = 0;  // while the disk is made to fail
  platform::sim::PerMillion fail_sync = 0;

  // Who has heard of an address before anybody announces it: proxies, peers or nobody.
  enum class Home : std::uint8_t { Dht, Peers, Nobody };
  [[nodiscard]] static Home home(std::size_t address) noexcept {
    return address < 5 ? Home::Dht : address < 8 ? Home::Peers : Home::Nobody;
  }
  // Whoever is asked answers as it should, all the time, and can be heard.
  [[nodiscard]] bool helpers_are_well() const;
};

IndexPlan make_index_plan(std::uint64_t seed);

// The machine of a helper, by its address in the world.
std::string helper_url(const Plan& plan, std::size_t helper, std::uint16_t port);

}  // namespace ron::sim
