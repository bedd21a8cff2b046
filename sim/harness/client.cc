#include "sim/harness/client.h"

#include <algorithm>
#include <utility>

#include "runtime/deadline.h"

namespace ron::sim {

using namespace std::chrono_literals;

Client::Client(Scene& scene, platform::sim::Node& node, const ClientPlan& plan, std::size_t number)
    : scene_(scene), node_(node), plan_(plan), number_(number) {
  Dice dice(plan.seed);
  for (std::size_t i = 0; i < plan.sessions; ++i) {
    std::string who = "client " + std::to_string(number) + "." + std::to_string(i);
    sessions_.push_back(std::make_unique<platform::test::Root>(
        node.core(), run(std::move(who), Dice(dice.next()))));
  }
}

bool Client::done() const {
  return std::ranges::all_of(sessions_, [](const auto& session) { return session->done(); });
}

Task<void> Client::run(std::string who, Dice dice) {
  co_await runtime::sleep_for(dice.between(0ms, Duration(500ms)));
  const std::unique_ptr<Caller> caller = scene_.subject.make_caller(Dice(dice.next()));
  for (std::size_t round = 0; round < plan_.rounds && !scene_.journal.failed(); ++round) {
    co_await session(who, caller.get(), &dice);
    co_await runtime::sleep_for(dice.between(0ms, Duration(dice.chance(70) ? 50ms : 800ms)));
  }
}

Task<void> Client::session(std::string who, Caller* caller, Dice* dice) {
  Talk talk(scene_, std::move(who), node_.host(), plan_);
  const Duration patience = dice->chance(10) ? dice->between(0ms, Duration(50ms)) : 3s;
  const bool open = co_await talk.open(false, patience);
  if (!open) co_return;
  const bool stands = dice->chance(5) || co_await talk_a_while(&talk, caller, dice);
  if (!stands) co_return;
  if (dice->chance(15)) {
    ++scene_.journal.tally.faults["connections left idle"];
    co_await talk.sit_idle();
  } else if (dice->chance(10)) {
    ++scene_.journal.tally.faults["connections forgotten"];
    talk.hold();
  }
}

// True while the connection stands.
Task<bool> Client::talk_a_while(Talk* talk, Caller* caller, Dice* dice) {
  const std::size_t turns = dice->between(1, 10);
  for (std::size_t turn = 0; turn < turns; ++turn) {
    const std::size_t count = dice->chance(20) ? dice->between(2, 4) : 1;
    std::vector<RequestPtr> requests;
    for (std::size_t i = 0; i < count; ++i) requests.push_back(caller->next(*dice, count == 1));
    const Conduct conduct = any_conduct(*dice, requests);
    const bool stands = co_await talk->exchange(std::move(requests), conduct);
    if (!stands || scene_.journal.failed()) co_return false;
    if (dice->chance(30)) co_await runtime::sleep_for(dice->between(0ms, Duration(300ms)));
  }
  co_return true;
}

Conduct Client::any_conduct(Dice& dice, const std::vector<RequestPtr>& requests) const {
  Conduct conduct;
  std::size_t bytes = 0;
  for (const RequestPtr& request : requests) bytes += request->bytes();
  auto& faults = scene_.journal.tally.faults;
  if (dice.chance(12)) {
    ++faults["requests dribbled"];
    conduct.writing.piece = dice.between(1 + bytes / 40, 1 + bytes / 2);
    conduct.writing.pause = dice.between(0ms, Duration(dice.chance(70) ? 20ms : 400ms));
  }
  if (dice.chance(8)) {
    ++faults["answers read slowly"];
    conduct.reading.piece = dice.between(200, 20'000);
    conduct.reading.pause = dice.between(1ms, Duration(dice.chance(70) ? 20ms : 200ms));
  }
  if (dice.chance(5)) {
    ++faults["answers left waiting"];
    conduct.thinking = dice.between(10ms, Duration(1500ms));
  }
  if (dice.chance(5)) {
    ++faults["requests broken off"];
    conduct.stops_at = dice.between(1, requests.back()->bytes() - 1);
    conduct.waits_after_stop = dice.chance(50);
  }
  conduct.half_closes = dice.chance(conduct.stops_at ? 30 : 4);
  conduct.walks_away = dice.chance(4);
  if (conduct.walks_away) ++faults["answers not waited for"];
  return conduct;
}

}  // namespace ron::sim
