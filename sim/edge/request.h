// EdgeRequest: one thing a client asks of svc-edge, as bytes and as what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pack/pack.h"
#include "sim/edge/plan.h"
#include "sim/harness/request.h"

namespace ron::sim {

enum class EdgeAsk : std::uint8_t {
  Asset,
  Tile,       // of the pack
  Pack,       // all of it, or a part
  Foreign,    // of a host that is not allowed
  Malformed,  // a URL that is none
  Health,
  Ready,
  Missing,
  Garbage,
};

// What a request says to caches.
struct RequestPolicy {
  bool no_cache = false;
  bool no_store = false;
  bool only_if_cached = false;
  std::optional<unsigned> max_age_s{};
  std::optional<unsigned> max_stale_s{};
  std::optional<unsigned> min_fresh_s{};

  [[nodiscard]] std::string text() const;
};

struct EdgeRequest : Request {
  EdgeAsk ask = EdgeAsk::Asset;
  std::size_t url = 0;
  pack::Zxy tile;
  std::string language;
  RequestPolicy policy;
  std::string if_none_match;  // a tag, without its quotes
  std::string if_range;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range{};  // first and last
};

class EdgeRequestMaker {
 public:
  // `tags` are those that clients have seen, by URL.
  EdgeRequestMaker(const EdgePlan& plan, const std::string& token,
                   const std::vector<std::string>& tags)
      : plan_(plan), token_(token), tags_(tags) {}

  [[nodiscard]] RequestPtr any(Dice& dice) const;
  // A plain one.
  [[nodiscard]] RequestPtr plain(Dice& dice, std::size_t url, RequestPolicy policy) const;
  [[nodiscard]] RequestPtr tile(Dice& dice, pack::Zxy at) const;

 private:
  [[nodiscard]] std::unique_ptr<EdgeRequest> begin(Dice& dice, EdgeAsk ask, bool has_token) const;
  [[nodiscard]] std::size_t draw_url(Dice& dice) const;
  void add_conditions(Dice& dice, EdgeRequest& request) const;
  static void add_range(Dice& dice, EdgeRequest& request, std::uint64_t about);
  void finish(EdgeRequest& request, std::string_view method, std::string_view target) const;

  const EdgePlan& plan_;
  const std::string& token_;
  const std::vector<std::string>& tags_;
};

}  // namespace ron::sim
