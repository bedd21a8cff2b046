// What a seed of svc-edge decides beforehand, besides what every service's does: which URLs there
// are and what their origins say of them, what is wrong with origins, names and the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/sim/network.h"
#include "sim/harness/plan.h"

namespace ron::sim {

// Where the pack is on the machine of the edge, and what it is called.
inline constexpr std::string_view kMapDirectory = "/maps";
inline constexpr std::string_view kMapName = "map";

// Origins answer requests in this language with an error or a 404, whatever they have for others.
inline constexpr std::string_view kOddLanguage = "xx";

// What an origin does with a request. X(name, what is counted)
#define RON_SIM_ORIGIN_DEEDS(X)                                    \
  X(Answer, "answered as they should")                             \
  X(Slow, "answered late")                                         \
  X(Dribble, "answered drop by drop")                              \
  X(Missing, "answered with 404")                                  \
  X(Hang, "never answered")                                        \
  X(HangMidBody, "answered in part, then never")                   \
  X(Reset, "reset")                                                \
  X(Cut, "answered in part, then reset")                           \
  X(TooShort, "answered with less than was said")                  \
  X(TooLong, "answered with more than was said")                   \
  X(ChunkGarbage, "answered with broken chunks")                   \
  X(ChunksUnfinished, "answered in chunks without the last")       \
  X(NoHttp, "answered with what is not HTTP")                      \
  X(WeakTag, "answered with a weak entity-tag")                    \
  X(NoTag, "answered without an entity-tag")                       \
  X(OtherTag, "confirmed what nobody asked about")                 \
  X(Unavailable, "answered with 500, 503 or 504")                  \
  X(OddStatus, "answered with a status that is of no use")         \
  X(RedirectLoop, "redirected in a circle")                        \
  X(RedirectInside, "redirected to a private or loopback address") \
  X(RedirectAway, "redirected to a host that is not allowed")      \
  X(RedirectPlain, "redirected to plain HTTP")                     \
  X(Bomb, "answered with a bomb")                                  \
  X(BadGzip, "answered with gzip that is none, or not all of it")  \
  X(Gzip, "answered with gzip that nobody asked for")              \
  X(OddCoding, "answered in a coding that nobody knows")           \
  X(TooLarge, "answered with more than may be kept")

enum class OriginDeed : std::uint8_t {
#define RON_X(name, what) name,
  RON_SIM_ORIGIN_DEEDS(RON_X)
#undef RON_X
};
inline constexpr OriginDeed kFirstMisdeed = OriginDeed::Slow;
inline constexpr OriginDeed kLastMisdeed = OriginDeed::TooLarge;
std::string_view text(OriginDeed deed) noexcept;

// What an origin says about an answer to caches.
struct CachePolicy {
  std::optional<unsigned> max_age_s{};
  std::optional<unsigned> s_maxage_s{};
  unsigned age_s = 0;  // it has been on its way for so long
  bool no_store = false;
  bool is_private = false;
  bool no_cache = false;
  bool must_revalidate = false;
  bool sets_cookie = false;
  bool is_public = false;
  std::optional<unsigned> stale_if_error_s{};

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool may_be_shared() const noexcept {
    return !no_store && !is_private && (!sets_cookie || is_public || s_maxage_s);
  }
  // For which it is fresh, from when it was asked for; the judge's own reading of RFC 9111.
  [[nodiscard]] Duration fresh_for() const;
};

// One thing that an origin has. What its bytes are changes with time.
struct UrlPlan {
  std::size_t origin = 0;
  std::string target;
  CachePolicy policy;
  std::size_t bytes = 0;
  Duration changes_every{};               // zero: never
  bool varies = false;                    // by Accept-Language
  bool lacks_odd = false;                 // kOddLanguage gets a 404, else a 400
  std::optional<std::size_t> leads_to{};  // the URL that it redirects to
  unsigned redirect_lasts_s = 0;          // what the redirect says to caches; zero: nothing
};

struct OriginPlan {
  std::uint64_t seed = 0;
  unsigned misdeeds = 0;   // percent of its requests
  unsigned bad_names = 0;  // percent of look-ups that end badly
};

// Something done from outside to the machine of an origin.
struct EdgeOutage {
  enum class Kind : std::uint8_t { Kill, PowerCut, Partition, Freeze };
  Kind kind = Kind::Kill;
  std::size_t origin = 0;
  Duration at{};
  Duration lasts{};
};

struct EdgePlan : Plan {
  static constexpr std::size_t kHot = 8;  // URLs that everybody wants

  std::vector<UrlPlan> urls;  // the hot ones first
  std::vector<OriginPlan> origins;
  std::vector<platform::sim::LinkOptions> links;  // of each origin to the service
  std::vector<EdgeOutage> outages;
  std::vector<Duration> map_changes;  // when the pack is replaced
  bool amnesia = false;
  platform::sim::PerMillion fail_write = 0;  // while the disk is made to fail
  platform::sim::PerMillion fail_sync = 0;
  platform::sim::PerMillion fail_read = 0;
  platform::sim::PerMillion rot_on_read = 0;

  [[nodiscard]] static std::string host(std::size_t origin) {
    return "o" + std::to_string(origin) + ".example.org";
  }
  // `o1.example.org/p/3`, as it stands behind /edge/assets/.
  [[nodiscard]] std::string name(std::size_t url) const {
    return host(urls[url].origin) + urls[url].target;
  }
  [[nodiscard]] std::size_t final(std::size_t url) const {
    return urls[url].leads_to.value_or(url);
  }
  // Whoever is asked answers as it should, all the time, and can be found and heard.
  [[nodiscard]] bool origins_are_well() const;
};

EdgePlan make_edge_plan(std::uint64_t seed);

// Origins have addresses of their own in the world, all private, and others by which strangers know
// them; these are the second bytes of both.
std::string private_address(const Plan& plan, std::size_t origin);
std::string public_address(const Plan& plan, std::size_t origin);

}  // namespace ron::sim
