#include "sim/edge/request.h"

#include <utility>

#include "sim/harness/tokens.h"

namespace ron::sim {
namespace {

unsigned draw(Dice& dice, unsigned low, unsigned high) {
  return static_cast<unsigned>(dice.between(low, high));
}

RequestPolicy draw_policy(Dice& dice) {
  RequestPolicy policy;
  switch (dice.below(20)) {
    case 0:
      policy.no_cache = true;
      break;
    case 1:
      policy.no_store = true;
      break;
    case 2:
      policy.only_if_cached = true;
      break;
    case 3:
      policy.max_age_s = draw(dice, 0, 3);
      break;
    case 4:
      policy.max_stale_s = draw(dice, 0, 5);
      break;
    case 5:
      policy.min_fresh_s = draw(dice, 0, 3);
      break;
    default:
      break;
  }
  return policy;
}

std::string seconds(std::string_view name, unsigned value) {
  return std::string(name) + "=" + std::to_string(value);
}

}  // namespace

std::string RequestPolicy::text() const {
  if (no_cache) return "no-cache";
  if (no_store) return "no-store";
  if (only_if_cached) return "only-if-cached";
  if (max_age_s) return seconds("max-age", *max_age_s);
  if (max_stale_s) return seconds("max-stale", *max_stale_s);
  if (min_fresh_s) return seconds("min-fresh", *min_fresh_s);
  return "";
}

// Most ask for the few that all want, some for what nobody else does.
std::size_t EdgeRequestMaker::draw_url(Dice& dice) const {
  return dice.chance(65) ? dice.below(EdgePlan::kHot) : dice.below(plan_.urls.size());
}

std::unique_ptr<EdgeRequest> EdgeRequestMaker::begin(Dice& dice, EdgeAsk ask,
                                                     bool has_token) const {
  auto request = std::make_unique<EdgeRequest>();
  request->ask = ask;
  request->corr_id = draw_corr_id(dice);
  request->garbage = ask == EdgeAsk::Garbage;
  request->asks_ready = ask == EdgeAsk::Ready;
  request->heavy = ask <= EdgeAsk::Malformed || ask == EdgeAsk::Missing;
  request->public_read = request->heavy;
  request->right = has_token || !request->heavy ? Right::Enough : Right::Nobody;
  return request;
}

void EdgeRequestMaker::finish(EdgeRequest& request, std::string_view method,
                              std::string_view target) const {
  request.what = std::string(method) + " " + std::string(target);
  request.to_head = method == "HEAD";
  std::string fields = std::move(request.head);
  request.head = std::string(method) + " " + std::string(target) +
                 " HTTP/1.1\r\nHost: edge\r\nX-Corr-ID: " + request.corr_id + "\r\n" + fields;
  if (request.right == Right::Enough && request.heavy) {
    request.head += "Authorization: Bearer " + token_ + "\r\n";
  }
  const std::string policy = request.policy.text();
  if (!policy.empty()) {
    request.head += "Cache-Control: " + policy + "\r\n";
    request.what += " " + policy;
  }
  if (!request.language.empty()) request.head += "Accept-Language: " + request.language + "\r\n";
  request.head += "\r\n";
}

// Ranges that a short body has none of included.
void EdgeRequestMaker::add_conditions(Dice& dice, EdgeRequest& request) const {
  const std::string& known = tags_[request.url];
  const std::string other = "b3:" + std::string(64, 'a');
  if (dice.chance(15)) {
    request.if_none_match = known.empty() || dice.chance(20) ? other : known;
    request.head += "If-None-Match: \"" + request.if_none_match + "\"\r\n";
    return;
  }
  if (!dice.chance(20)) return;
  add_range(dice, request, dice.chance(80) ? 200 : 80'000);
  if (dice.chance(30)) {
    request.if_range = known.empty() || dice.chance(30) ? other : known;
    request.head += "If-Range: \"" + request.if_range + "\"\r\n";
  }
}

void EdgeRequestMaker::add_range(Dice& dice, EdgeRequest& request, std::uint64_t about) {
  const std::uint64_t first = dice.below(about);
  request.range.emplace(first, first + dice.below(dice.chance(50) ? 100 : 60'000));
  request.head += "Range: bytes=" + std::to_string(request.range->first) + "-" +
                  std::to_string(request.range->second) + "\r\n";
}

RequestPtr EdgeRequestMaker::tile(Dice& dice, pack::Zxy at) const {
  auto request = begin(dice, EdgeAsk::Tile, true);
  request->tile = at;
  request->answer_bytes = 100;
  finish(*request, "GET",
         "/edge/tiles/" + std::string(kMapName) + "/" + std::to_string(at.z) + "/" +
             std::to_string(at.x) + "/" + std::to_string(at.y) + ".mvt");
  return request;
}

RequestPtr EdgeRequestMaker::plain(Dice& dice, std::size_t url, RequestPolicy policy) const {
  auto request = begin(dice, EdgeAsk::Asset, true);
  request->url = url;
  request->policy = policy;
  request->answer_bytes = plan_.largest_body;
  finish(*request, "GET", "/edge/assets/" + plan_.name(url));
  return request;
}

RequestPtr EdgeRequestMaker::any(Dice& dice) const {
  using enum EdgeAsk;
  if (dice.chance(15)) {
    const auto zoom = static_cast<std::uint8_t>(dice.below(4));
    const auto draw_place = [&] { return static_cast<std::uint32_t>(dice.below(1U << zoom)); };
    const std::uint32_t x = draw_place();
    return tile(dice, {zoom, x, draw_place()});
  }
  const EdgeAsk ask =
      dice.chance(10)
          ? dice.pick({Pack, Pack, Pack, Foreign, Malformed, Health, Ready, Missing, Garbage})
          : Asset;
  auto request = begin(dice, ask, dice.chance(95));
  switch (ask) {
    case Garbage:
      request->what = "garbage";
      request->head = "GET  /edge HTTP/1.1\r\n\r\n";
      return request;
    case Health:
    case Ready:
      finish(*request, "GET", ask == Health ? "/healthz" : "/readyz");
      return request;
    case Missing:
      finish(*request, "GET", "/nothing/here");
      return request;
    case Foreign:
      finish(*request, "GET",
             dice.pick<std::string_view>({"/edge/assets/evil.example.net/p/1",
                                          "/edge/assets/127.0.0.1/p/1", "/edge/assets/10.0.0.1/p/1",
                                          "/edge/assets/o1.example.org:8443/p/1"}));
      return request;
    case Malformed:
      finish(*request, "GET",
             dice.pick<std::string_view>({"/edge/assets/o1.example.org./p/1",
                                          "/edge/assets/o1.example.org//p",
                                          "/edge/assets/o1.example.org:99999/p"}));
      return request;
    case Pack:
      request->answer_bytes = plan_.largest_body;
      if (dice.chance(70)) add_range(dice, *request, 1000);
      finish(*request, "GET", "/edge/packs/" + std::string(kMapName) + ".pmtiles");
      return request;
    case Tile:
    case Asset:
      break;
  }
  request->url = draw_url(dice);
  request->policy = draw_policy(dice);
  request->language = dice.pick<std::string>({"", "", "de", "en", std::string(kOddLanguage)});
  request->answer_bytes = plan_.largest_body;
  add_conditions(dice, *request);
  finish(*request, dice.chance(10) ? "HEAD" : "GET", "/edge/assets/" + plan_.name(request->url));
  return request;
}

}  // namespace ron::sim
