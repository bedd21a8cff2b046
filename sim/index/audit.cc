#include "sim/index/audit.h"

#include <utility>

#include "runtime/deadline.h"
#include "sim/index/judge.h"

namespace ron::sim {

using namespace std::chrono_literals;

IndexAuditor::IndexAuditor(Talk* talk, const IndexRequestMaker* maker, IndexLedgers* ledgers)
    : talk_(*talk),
      scene_(talk->scene()),
      maker_(*maker),
      ledgers_(*ledgers),
      dice_(scene_.plan.seed ^ 0xA0D17ULL) {}

void IndexAuditor::expect(bool holds, const std::string& what) {
  if (!holds) scene_.journal.violation("audit", what);
}

// Below the rate limit, however low it is, and with a capability.
Task<std::string> IndexAuditor::ask(IndexAsk what, std::size_t about) {
  const http::ServerSettings& server = scene_.timeline.now_living().eras.back().settings->server;
  co_await runtime::sleep_for(1100ms / static_cast<Duration::rep>(server.max_rps));
  RequestPtr request;
  do {
    request = maker_.make(dice_, what, about);
  } while (request->right != Right::Enough);
  co_return co_await talk_.ask(std::move(request));
}

// What anybody was told is there; then it is changed, and read again.
Task<void> IndexAuditor::check_name(std::size_t number) {
  NameLedger& name = ledgers_.names[number];
  const std::string which = IndexRequestMaker::name_text(number);
  const auto told = name.versions();
  std::string outcome = co_await ask(IndexAsk::History, number);
  if (name.newest() != 0 || outcome != "404 NotFound") {
    expect(outcome == "200", which + ": history -> " + outcome);
    if (scene_.journal.failed()) co_return;
    // The judge has taken every version of it, and would have seen another.
    const auto newest = number_in(talk_.last_answer().body, "version");
    for (const auto& [version, target] : told) {
      expect(newest && version <= *newest,
             which + "@" + std::to_string(version) + " was told and is lost");
      ++checked_;
    }
  }
  // The ledger knows the newest version now; the first try may still believe an older one.
  for (int tries = 0; tries < 20 && !scene_.journal.failed(); ++tries) {
    outcome = co_await ask(IndexAsk::Cas, number);
    if (outcome != "409 VersionSkew") break;
  }
  expect(outcome == "200" || outcome == "201", which + ": in a quiet world, cas -> " + outcome);
  if (scene_.journal.failed()) co_return;
  for (const IndexAsk what : {IndexAsk::Name, IndexAsk::ResolveName, IndexAsk::ResolveName}) {
    outcome = co_await ask(what, number);
    expect(outcome == "200", which + ": in a quiet world, read -> " + outcome);
    if (scene_.journal.failed()) co_return;
  }
}

Task<void> IndexAuditor::check_address(std::size_t number) {
  const bool is_known = IndexPlan::home(number) != IndexPlan::Home::Nobody ||
                        !ledgers_.providers[number].newest().empty();
  if (!is_known) co_return;
  const std::string outcome = co_await ask(IndexAsk::ResolveAddressFresh, number);
  expect(outcome == "200",
         "in a quiet world, address " + std::to_string(number) + " -> " + outcome);
}

Task<void> IndexAuditor::run() {
  for (std::size_t i = 0; i < IndexPlan::kNames && !scene_.journal.failed(); ++i) {
    co_await check_name(i);
  }
  for (std::size_t i = 0; i < IndexPlan::kAddresses && !scene_.journal.failed(); ++i) {
    co_await check_address(i);
  }
}

}  // namespace ron::sim
