// How an operation of a simulated device takes virtual time.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"
#include "platform/completion.h"
#include "platform/sim/power.h"
#include "platform/sim/world.h"

namespace ron::platform::sim {

// Takes between one and two times `takes`, runs `effect` at some moment of that and hands its
// result over at the end; `when_cut` is the result if the power fails in between. The closures own
// everything they touch, so the caller may be gone by then. Cancel-safe: the effect of an aborted
// operation still happens.
template <class T>
Task<base::Result<T>> perform(World* world, const Power* power, Duration takes,
                              base::Error when_cut,
                              std::move_only_function<base::Result<T>()> effect) {
  using Outcome = base::Result<T>;
  auto completion = std::make_shared<Completion<Outcome>>();
  const TimePoint end = world->now() + takes + world->up_to(takes);
  const TimePoint moment = world->now() + world->up_to(end - world->now());
  auto finish = [power, completion, when_cut, cuts = power->cuts](Outcome outcome) {
    const bool stale = cuts != power->cuts || !power->on;
    completion->finish(stale ? Outcome(base::fail(when_cut)) : std::move(outcome));
  };
  world->at(moment, [world, power, end, cuts = power->cuts, finish, when_cut,
                     run = std::move(effect)]() mutable {
    if (cuts != power->cuts || !power->on) return finish(base::fail(when_cut));
    world->at(end, [finish, outcome = run()]() mutable { finish(std::move(outcome)); });
  });
  Outcome outcome = co_await Completion<Outcome>::wait(completion);
  co_return outcome;
}

}  // namespace ron::platform::sim
