#include "sim/edge/judge.h"

#include <algorithm>
#include <utility>

#include "b3/hash.h"
#include "base/bytes.h"
#include "services/edge/config.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using base::Code;

// Ages are counted in whole seconds.
constexpr Duration kRounding = 1s;

// `"tag"` without its quotes; empty for anything else.
std::string_view unquoted(std::string_view field) {
  const bool is_quoted = field.size() >= 2 && field.front() == '"' && field.back() == '"';
  return is_quoted ? field.substr(1, field.size() - 2) : std::string_view();
}

edge::SettingsPtr settings_of(const Era& era) { return era.config->get(edge::edge_section()); }

Duration seconds_of(unsigned count) { return std::chrono::seconds(count); }

}  // namespace

template <class Get>
Duration EdgeJudge::longest(Get get) const {
  Duration found{};
  // A fill goes by the settings that it began with.
  static_cast<void>(x_.life->any(TimePoint(), x_.ended, [&](const Era& era) {
    found = std::max(found, get(*settings_of(era)));
    return false;
  }));
  return found;
}

bool EdgeJudge::was_offline() const {
  return any([](const Era& era) { return settings_of(era)->mode == edge::Mode::Offline; });
}

// Something between it and the origin may have gone wrong, or have taken too long.
bool EdgeJudge::may_have_failed() const {
  const bool is_late = any([this](const Era& era) {
    const edge::SettingsPtr settings = settings_of(era);
    return x_.ended - x_.begun >=
           std::min(settings->fill.timeout, settings->server.request_deadline);
  });
  return conditions_.origins_fail || conditions_.disk_fails || is_late || was_offline() ||
         x_.ended >= x_.life->stop_asked || !x_.life->task_failures.empty() || may_be_crowded() ||
         x_.refusals->any("", x_.begun, x_.ended);
}

bool EdgeJudge::may_be_crowded() const {
  return any(
      [this](const Era& era) { return conditions_.peers > settings_of(era)->fill.max_waiting; });
}

// It came with a fill that was under way while the request was.
bool EdgeJudge::is_of_now(const Offer& offer) const {
  const bool is_slow = conditions_.disk_fails || conditions_.disk_is_slow;
  const Duration fill = longest([](const edge::EdgeConfig& config) { return config.fill.timeout; });
  const Duration flight = fill + (is_slow ? 30s : 1s) + 10 * plan_.moment();
  return offer.asked <= x_.ended && offer.asked + flight >= x_.begun;
}

bool EdgeJudge::is_known_missing() const {
  const Duration believed =
      longest([](const edge::EdgeConfig& config) { return config.cache.negative_ttl; });
  return shelf_.any(request_->url, [&](const Offer& offer) {
    if (offer.status != 404 || offer.asked > x_.ended) return false;
    // What one request is told says nothing of those in other languages.
    if (offer.language != request_->language) return false;
    return is_of_now(offer) || offer.asked + believed + 2 * kRounding + plan_.moment() >= x_.begun;
  });
}

bool EdgeJudge::has_reason_for_asset(Code code) const {
  switch (code) {
    case Code::NotFound:
      return is_known_missing();
    case Code::NotAllowed:
      return conditions_.origins_fail || was_offline();
    case Code::BodyCap:
    case Code::DecodedCap:
    case Code::DecodedRatio:
      return conditions_.origins_fail;
    case Code::UpstreamFail:
      // Only this status is the word of an origin that is well.
      if (json_text(answer_.body, "status") == "400") return is_odd();
      return conditions_.origins_fail || is_odd();
    case Code::Timeout:
      return request_->policy.only_if_cached || may_have_failed();
    case Code::StorageBusy:
    case Code::Degraded:
      return conditions_.disk_fails || conditions_.disk_is_slow;
    case Code::Amnesia:
      return conditions_.amnesia;
    case Code::Busy: {
      // The envelope says how many wait; a refused HEAD has none.
      const bool is_bound = base_.to_head || !json_text(answer_.body, "waiting").empty();
      return is_bound && may_be_crowded();
    }
    case Code::RangeNotSatisfiable:
      return request_->range && shelf_.any(request_->url, [this](const Offer& offer) {
        const std::string* const bytes = shelf_.bytes(offer.tag);
        return bytes != nullptr && bytes->size() <= request_->range->first;
      });
    default:
      return false;
  }
}

// Looked at every two seconds, and taken when it is the same at the next look. Where the disk
// fails, or whoever looks, it may take longer.
std::uint64_t EdgeJudge::oldest_map() const {
  constexpr Duration kTakes = 10s;
  const bool is_late = conditions_.disk_has_failed || conditions_.disk_is_slow ||
                       x_.begun <= x_.life->opened + plan_.moment();
  return is_late ? 0 : maps_.newest(x_.begun - kTakes);
}

bool EdgeJudge::has_reason_for_map(Code code) const {
  switch (code) {
    case Code::NotFound: {
      const bool is_no_tile =
          request_->ask == EdgeAsk::Tile && request_->tile.z > Maps::kMaxZoom &&
          any([](const Era& era) {
            return settings_of(era)->tiles.missing == edge::MissingTile::NotFound;
          });
      return is_no_tile || oldest_map() == 0;
    }
    case Code::Busy:
      return (base_.to_head || !json_text(answer_.body, "waiting").empty()) && may_be_crowded();
    case Code::RangeNotSatisfiable:
      return request_->range && request_->range->first >= maps_.file(1).size();
    case Code::Degraded:
      return oldest_map() == 0;  // it is being verified, or was refused
    case Code::IntegrityFail:
    case Code::StorageBusy:
      return conditions_.disk_has_failed || conditions_.disk_is_slow;
    default:
      return false;
  }
}

bool EdgeJudge::has_own_reason(Code code) const {
  if (request_ == nullptr) return false;
  switch (request_->ask) {
    case EdgeAsk::Asset:
      return has_reason_for_asset(code);
    case EdgeAsk::Tile:
    case EdgeAsk::Pack:
      return has_reason_for_map(code);
    case EdgeAsk::Foreign:
      return code == Code::NotAllowed;
    case EdgeAsk::Malformed:
      return code == Code::Malformed;
    case EdgeAsk::Missing:
      return code == Code::NotFound;
    default:
      return false;
  }
}

bool EdgeJudge::may_be_hit(const Offer& offer) const {
  const RequestPolicy& wanted = request_->policy;
  if (wanted.no_cache || offer.policy.no_cache || !offer.policy.may_be_shared()) return false;
  Duration usable = offer.policy.fresh_for();
  // For no longer than the way to it.
  const UrlPlan& asked = plan_.urls[request_->url];
  if (asked.leads_to) usable = std::min(usable, seconds_of(asked.redirect_lasts_s));
  if (wanted.min_fresh_s) usable -= seconds_of(*wanted.min_fresh_s);
  if (wanted.max_age_s) {
    const Duration young = seconds_of(*wanted.max_age_s + 1) - seconds_of(offer.policy.age_s);
    usable = std::min(usable, young);
  }
  return offer.asked <= x_.ended && x_.begun <= offer.asked + usable + 1ms;
}

// Because the client takes it so, or because nothing better can be had.
bool EdgeJudge::may_be_stale(const Offer& offer) const {
  const RequestPolicy& wanted = request_->policy;
  const CachePolicy& said = offer.policy;
  const bool is_bound = said.no_cache || said.must_revalidate || said.s_maxage_s;
  if (wanted.no_cache || is_bound || !said.may_be_shared()) return false;
  const TimePoint until = offer.asked + said.fresh_for();
  if (wanted.max_stale_s && x_.begun <= until + seconds_of(*wanted.max_stale_s) + kRounding) {
    return true;
  }
  const Duration allowed =
      said.stale_if_error_s
          ? seconds_of(*said.stale_if_error_s)
          : longest([](const edge::EdgeConfig& config) { return config.cache.stale_if_error; });
  return (may_have_failed() || is_odd()) && x_.begun <= until + allowed + kRounding;
}

Wrong EdgeJudge::judge_use(std::string_view tag) const {
  const std::string_view how = answer_.field("x-cache");
  ++ledger_.results[std::string(how)];
  const auto any_offer = [&](auto holds) {
    return shelf_.any(request_->url,
                      [&](const Offer& offer) { return offer.tag == tag && holds(offer); });
  };
  bool is_right = false;
  if (how == "hit") {
    is_right = any_offer([this](const Offer& offer) { return may_be_hit(offer); });
  } else if (how == "stale") {
    is_right = any_offer([this](const Offer& offer) { return may_be_stale(offer); });
  } else if (how == "miss") {
    is_right =
        any_offer([this](const Offer& offer) { return offer.status == 200 && is_of_now(offer); });
  } else if (how == "revalidated") {
    is_right =
        any_offer([this](const Offer& offer) { return offer.status == 304 && is_of_now(offer); });
  }
  if (is_right) return std::nullopt;
  return "nothing the origin said allows '" + std::string(how) + "' for " + std::string(tag) +
         ", age " + std::string(answer_.field("age"));
}

Wrong EdgeJudge::judge_part(const std::string& whole, std::string_view tag) const {
  if (!request_->range) return "a part, and nobody asked for one";
  if (!request_->if_range.empty() && request_->if_range != tag) return "a part of something else";
  const std::uint64_t first = request_->range->first;
  if (first >= whole.size()) return "a part that there is not";
  const std::uint64_t last = std::min<std::uint64_t>(request_->range->second, whole.size() - 1);
  const std::string said = "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
                           std::to_string(whole.size());
  if (answer_.field("content-range") != said) {
    return "Content-Range: " + std::string(answer_.field("content-range")) + " is not " + said;
  }
  if (request_->to_head) return std::nullopt;
  return answer_.body == whole.substr(first, last - first + 1) ? Wrong() : Wrong("wrong part");
}

Wrong EdgeJudge::judge_bytes(const std::string& whole, std::string_view tag) const {
  switch (answer_.status) {
    case 200: {
      const bool wants_part = request_->range && !request_->to_head && request_->if_range.empty() &&
                              request_->range->first < whole.size();
      if (wants_part) return "all of it, and a part was asked for";
      if (!request_->if_none_match.empty() && request_->if_none_match == tag) {
        return "sent again what the client has";
      }
      if (answer_.content_length != whole.size()) return "wrong length";
      if (request_->to_head) return std::nullopt;
      return answer_.body == whole ? Wrong() : Wrong("wrong bytes");
    }
    case 206:
      return judge_part(whole, tag);
    case 304:
      return request_->if_none_match == tag ? Wrong() : Wrong("not what the client has");
    default:
      return "unexpected status";
  }
}

// All of it is of one version of the pack, one that was there, and not long before.
Wrong EdgeJudge::judge_map() const {
  const bool is_tile = request_->ask == EdgeAsk::Tile;
  if (answer_.status == 204) {
    return is_tile && request_->tile.z > Maps::kMaxZoom ? Wrong() : Wrong("a tile is missing");
  }
  const std::string_view tag = unquoted(answer_.field("etag"));
  const auto version = is_tile ? maps_.of_tile(tag, request_->tile) : maps_.of_file(tag);
  // What rots before it is mounted is another pack: only its hash can be held against it.
  const bool may_be_rotten = conditions_.disk_has_failed && !tag.empty();
  if (!version && may_be_rotten) {
    const bool is_right = base_.to_head || answer_.status != 200 ||
                          b3::hash(base::as_bytes(answer_.body)).text() == tag;
    return is_right ? Wrong() : Wrong("not what its tag says");
  }
  if (!version) return "no version of the pack has " + std::string(tag);
  const std::string whole = is_tile ? Maps::tile(*version, request_->tile) : maps_.file(*version);
  if (Wrong wrong = judge_bytes(whole, tag)) return wrong;
  if (*version >= oldest_map()) return std::nullopt;
  return "version " + std::to_string(*version) + " of the pack, and " +
         std::to_string(oldest_map()) + " has been there for long";
}

Wrong EdgeJudge::judge_success() {
  if (request_ == nullptr) return std::nullopt;
  if (request_->ask == EdgeAsk::Health || request_->ask == EdgeAsk::Ready) {
    return answer_.status == 200 ? Wrong() : Wrong("unexpected status");
  }
  if (!is_allowed()) return "answered without a capability";
  switch (request_->ask) {
    case EdgeAsk::Asset:
      return judge_asset();
    case EdgeAsk::Tile:
    case EdgeAsk::Pack:
      return judge_map();
    default:
      return "success of what must be refused";
  }
}

Wrong EdgeJudge::judge_asset() {
  if (!answer_.field("set-cookie").empty()) return "an origin's cookie came through";
  const std::string_view tag = unquoted(answer_.field("etag"));
  const std::string* const whole = shelf_.bytes(tag);
  if (whole == nullptr) {
    return "no origin ever gave " + std::string(tag) + ": " + answer_.body.substr(0, 100);
  }
  if (Wrong wrong = judge_bytes(*whole, tag)) return wrong;
  if (Wrong wrong = judge_use(tag)) return wrong;
  ledger_.tags[request_->url] = tag;
  const bool is_shared = plan_.urls[plan_.final(request_->url)].policy.may_be_shared();
  if (is_shared || whole->empty()) return std::nullopt;
  const auto [owner, is_new] = ledger_.given.emplace(tag, request_->corr_id);
  if (!is_new && owner->second != request_->corr_id) return "was meant for another client";
  return std::nullopt;
}

}  // namespace ron::sim
