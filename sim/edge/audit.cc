#include "sim/edge/audit.h"

#include <utility>

#include "runtime/deadline.h"

namespace ron::sim {

using namespace std::chrono_literals;

EdgeAuditor::EdgeAuditor(Talk* talk, const EdgeRequestMaker* maker, const EdgePlan* plan,
                         const Maps* maps, edge::Core* core, Disk disk)
    : talk_(*talk),
      scene_(talk->scene()),
      maker_(*maker),
      plan_(*plan),
      maps_(*maps),
      core_(*core),
      disk_failed_(disk.failed),
      may_have_rotted_(disk.failed_ever),
      dice_(scene_.plan.seed ^ 0xA0D17ULL) {}

void EdgeAuditor::expect(bool holds, const std::string& what) {
  if (!holds) scene_.journal.violation("audit", what);
}

// Below the rate limit, however low it is.
Task<std::string> EdgeAuditor::ask(std::size_t url, RequestPolicy policy) {
  const http::ServerSettings& server = scene_.timeline.now_living().eras.back().settings->server;
  co_await runtime::sleep_for(1100ms / static_cast<Duration::rep>(server.max_rps));
  co_return co_await talk_.ask(maker_.plain(dice_, url, policy));
}

// It can be had, and what is fresh for long is there the next time without the origin.
Task<void> EdgeAuditor::check_url(std::size_t url) {
  const std::string which = plan_.name(url);
  std::string outcome = co_await ask(url, {});
  expect(outcome == "200", "in a quiet world, " + which + " -> " + outcome);
  if (scene_.journal.failed()) co_return;
  ++checked_;
  const CachePolicy& policy = plan_.urls[plan_.final(url)].policy;
  const UrlPlan& asked = plan_.urls[url];
  const bool is_way_kept = !asked.leads_to || std::chrono::seconds(asked.redirect_lasts_s) >= 5s;
  const bool is_kept = policy.may_be_shared() && !policy.no_cache && policy.fresh_for() >= 5s &&
                       is_way_kept && !plan_.amnesia;
  if (!is_kept || talk_.last_answer().field("x-cache") != "miss") co_return;
  outcome = co_await ask(url, {.only_if_cached = true});
  expect(outcome == "200", "in a quiet world, " + which + " was not kept -> " + outcome);
}

// The newest pack is there, whatever became of it before; which one it was the judge has seen.
Task<void> EdgeAuditor::check_map() {
  if (may_have_rotted_ || maps_.placed() == 0) co_return;
  const http::ServerSettings& server = scene_.timeline.now_living().eras.back().settings->server;
  co_await runtime::sleep_for(1100ms / static_cast<Duration::rep>(server.max_rps));
  const std::string outcome = co_await talk_.ask(maker_.tile(dice_, {0, 0, 0}));
  expect(outcome == "200", "in a quiet world, a tile -> " + outcome);
  if (scene_.journal.failed()) co_return;
  expect(talk_.last_answer().body == Maps::tile(maps_.placed(), {0, 0, 0}),
         "in a quiet world, a tile of version " + std::to_string(maps_.placed()) + " is '" +
             talk_.last_answer().body + "'");
}

// Evicted bytes are gone from the disk, too, a while later.
Task<void> EdgeAuditor::check_room() {
  edge::AssetStore* const store = core_.assets().store();
  if (store == nullptr || disk_failed_) co_return;
  const edge::UrlTable& table = core_.assets().table();
  for (int tries = 0; tries < 60; ++tries) {
    if (store->volume().stats().objects <= table.entries()) co_return;
    co_await runtime::sleep_for(1s);
  }
  expect(false, std::to_string(store->volume().stats().objects) + " objects are on disk for " +
                    std::to_string(table.entries()) + " entries");
}

Task<void> EdgeAuditor::run() {
  for (std::size_t i = 0; i < plan_.urls.size() && !scene_.journal.failed(); ++i) {
    const bool is_asked = i < EdgePlan::kHot || dice_.chance(30);
    if (is_asked) co_await check_url(i);
  }
  if (!scene_.journal.failed()) co_await check_map();
  if (!scene_.journal.failed()) co_await check_room();
}

}  // namespace ron::sim
