// What a seed of svc-gateway decides beforehand, besides what every service's does: the upstreams
// behind it and what is wrong with them, its routes, and the settings that are the gateway's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/sim/network.h"
#include "sim/harness/plan.h"

namespace ron::sim {

// What an upstream does with a request. X(name, what is counted)
#define RON_SIM_DEEDS(X)                                                    \
  X(Answer, "answered as they should")                                      \
  X(Interim, "answered after an interim answer")                            \
  X(CloseAfter, "answered, the connection closed though it was to be kept") \
  X(Slow, "answered late")                                                  \
  X(Dribble, "answered drop by drop")                                       \
  X(Early, "answered before their body had come")                           \
  X(Unavailable, "answered with 502, 503 or 504")                           \
  X(Long, "answered with more bytes than announced")                        \
  X(Short, "answered with fewer bytes than announced")                      \
  X(BadChunk, "answered with a broken chunk")                               \
  X(ResetMidBody, "answered in part, then reset")                           \
  X(HangMidBody, "answered in part, then never")                            \
  X(Reset, "reset")                                                         \
  X(Close, "closed without an answer")                                      \
  X(Hang, "never answered")                                                 \
  X(Garbage, "answered with what is not HTTP")                              \
  X(HugeHead, "answered with a head that is too large")

enum class Deed : std::uint8_t {
#define RON_X(name, what) name,
  RON_SIM_DEEDS(RON_X)
#undef RON_X
};
std::string_view text(Deed deed) noexcept;
// After one of these the client may have to be told that its upstream failed.
constexpr bool is_misdeed(Deed deed) noexcept { return deed > Deed::Interim; }

struct MemberPlan {
  std::uint64_t seed = 0;
  unsigned misdeeds = 0;    // percent of its requests
  unsigned bad_probes = 0;  // percent of its health probes
  platform::sim::LinkOptions link;
};

// Something done to a member from outside, at a time.
struct Outage {
  enum class Kind : std::uint8_t {
    Kill,       // its connections are reset, further ones refused
    PowerCut,   // its machine goes dark without a word
    Partition,  // nothing passes between it and the gateway
    Freeze,     // it neither reads nor writes
    Drain       // an operator takes it out
  };
  Kind kind = Kind::Kill;
  std::size_t member = 0;
  Duration at{};
  Duration lasts{};
};

// Members whose names begin with the same prefix take the same requests.
struct GroupPlan {
  std::string prefix;  // `/a`; the group is `a`, its members are `a.0`, `a.1`
  std::size_t first = 0;
  std::size_t count = 0;

  [[nodiscard]] std::string name() const { return prefix.substr(1); }
};

inline constexpr std::uint16_t kMemberPort = 9000;
inline constexpr std::string_view kProbePath = "/how-are-you";
// A tenant of these has a capability; everyone else is known by the address.
inline constexpr std::size_t kTenants = 3;

struct GatewayPlan : Plan {
  bool with_storage = false;  // svc-storage, in memory, in the same process
  std::vector<MemberPlan> members;
  std::vector<GroupPlan> groups;  // the second is missing from the routes at times
  std::vector<Outage> outages;
  std::vector<std::string> objects;  // that clients store

  // `a.1`
  [[nodiscard]] std::string member_name(std::size_t member) const;
  // Nothing but what clients do to themselves can go wrong with a request.
  [[nodiscard]] bool upstreams_are_well() const;
};

GatewayPlan make_gateway_plan(std::uint64_t seed);

// The node of a member, as a number of the world.
[[nodiscard]] inline platform::sim::NodeId member_node(const Plan& plan, std::size_t member) {
  return static_cast<platform::sim::NodeId>(1 + plan.clients.size() + member);
}

}  // namespace ron::sim
