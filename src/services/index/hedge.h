// Hedging: asks several who may know, a few more when those are slow, and stops at the first
// quorum.
//
//   alpha are asked at once;
//   beta more, none of them asked before, after hedge_after, or as soon as those asked cannot make
//   the quorum any more;
//   the quorum of good answers ends it, and whoever has not answered is aborted;
//   the deadline ends it as Timeout.
//
// What an ask is, is its caller's business: anything that gives a Task<Result<T>>. A value is a
// good answer, NotFound says no, every other error is a failure, which says nothing. Nothing here
// does I/O or reads a clock but the executor's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "platform/task.h"
#include "runtime/background.h"
#include "runtime/deadline.h"
#include "runtime/wait_any.h"

namespace ron::index {

struct HedgePolicy {
  std::uint32_t alpha = 3;  // asked at once; at least 1
  std::uint32_t beta = 2;   // asked besides them
  base::Duration hedge_after = std::chrono::milliseconds(150);
  std::uint32_t quorum = 1;  // good answers that suffice; at least 1
};

// How many were asked and what they said: the decisions of a hedge, without the waiting.
class HedgeTally {
 public:
  HedgeTally(HedgePolicy policy, std::uint32_t candidates) noexcept;

  // One more is to be asked now.
  [[nodiscard]] bool wants_another() const noexcept;
  // There is somebody left whom the hedge would ask.
  [[nodiscard]] bool can_hedge() const noexcept;
  [[nodiscard]] bool won() const noexcept { return good_ >= policy_.quorum; }
  // Nobody is left to ask, and those who have not answered are too few.
  [[nodiscard]] bool lost() const noexcept;

  void ask() noexcept { ++asked_; }
  void hedge() noexcept { hedging_ = true; }
  // The answer of one that was asked; nothing: it was good.
  void answer(const base::Error* error);

  [[nodiscard]] std::uint32_t asked() const noexcept { return asked_; }
  // Somebody was asked whom a search without hedging would not have asked.
  [[nodiscard]] bool hedged() const noexcept { return asked_ > policy_.alpha; }
  // Why it was lost: NotFound if a quorum said no, else the first failure.
  [[nodiscard]] base::Error verdict() const;

 private:
  [[nodiscard]] std::uint32_t out() const noexcept { return asked_ - good_ - no_ - failed_; }
  [[nodiscard]] std::uint32_t most() const noexcept;  // that may be asked by now
  [[nodiscard]] bool in_reach() const noexcept { return good_ + out() >= policy_.quorum; }

  const HedgePolicy policy_;
  const std::uint32_t candidates_;
  std::uint32_t asked_ = 0;
  std::uint32_t good_ = 0;
  std::uint32_t no_ = 0;
  std::uint32_t failed_ = 0;
  bool hedging_ = false;
  std::optional<base::Error> failure_;
};

template <class T>
struct Hedged {
  struct Answer {
    std::uint32_t who;  // the candidate's index
    T value;
  };
  // In order of arrival, the last one being the winner: it made the quorum. Or NotFound, the first
  // failure, or Timeout.
  base::Result<std::vector<Answer>> answers;
  std::uint32_t asked = 0;
  bool hedged = false;
  // Who was too slow: still out when one that was asked after it answered, or when the deadline
  // passed and it had had as long as it takes to hedge. Others that were aborted are not to blame.
  std::vector<std::uint32_t> late{};
};

namespace detail {

// The asks of one search. Dropping it aborts those that are out. Models derive broken ones.
template <class T>
class HedgeLanes {
 public:
  using Answer = typename Hedged<T>::Answer;

  void ask(std::uint32_t who, platform::Task<base::Result<T>> task) {
    const platform::TimePoint now = platform::Executor::current()->now();
    out_.push_back({who, now, std::make_unique<Running>(std::move(task))});
  }
  [[nodiscard]] std::vector<runtime::EventOp> ends() {
    std::vector<runtime::EventOp> ops;
    ops.reserve(out_.size());
    for (Lane& lane : out_) ops.push_back(lane.running->finished());
    return ops;
  }
  // Takes what has been answered, in the order of asking, up to the quorum.
  template <class Tally>
  void collect(Tally& tally) {
    for (std::size_t i = 0; i < out_.size() && !tally.won();) {
      if (!out_[i].running->done()) {
        ++i;
        continue;
      }
      const Lane lane = std::move(out_[i]);
      out_.erase(out_.begin() + static_cast<std::ptrdiff_t>(i));
      base::Result<T> result = lane.running->take();
      tally.answer(result ? nullptr : &result.error());
      if (!result) continue;
      answers_.push_back({lane.who, std::move(*result)});
      newest_good_ = std::max(newest_good_, lane.since);
    }
  }
  [[nodiscard]] std::vector<Answer> take_answers() { return std::move(answers_); }
  // Those out that were asked before one that has answered.
  [[nodiscard]] std::vector<std::uint32_t> overtaken() const {
    return those_out([this](const Lane& lane) { return lane.since < newest_good_; });
  }
  // Those out that were asked at that time or before.
  [[nodiscard]] std::vector<std::uint32_t> out_since(platform::TimePoint time) const {
    return those_out([time](const Lane& lane) { return lane.since <= time; });
  }

 protected:
  using Running = runtime::Background<base::Result<T>>;
  struct Lane {
    std::uint32_t who;
    platform::TimePoint since;
    std::unique_ptr<Running> running;
  };
  std::vector<Lane> out_;

 private:
  template <class Predicate>
  [[nodiscard]] std::vector<std::uint32_t> those_out(Predicate predicate) const {
    std::vector<std::uint32_t> who;
    for (const Lane& lane : out_) {
      if (!lane.running->done() && predicate(lane)) who.push_back(lane.who);
    }
    return who;
  }

  std::vector<Answer> answers_;
  platform::TimePoint newest_good_{};  // when the last asked of those with a good answer was asked
};

}  // namespace detail

template <class T>
using Ask = std::function<platform::Task<base::Result<T>>(std::uint32_t who)>;

// Tally and Lanes are for models, which plant mistakes there.
//
// Asks candidates 0, 1, … in this order, each at most once, with `ask(who)`. One that answers
// without waiting saves those behind it if it makes the quorum. Nobody is asked once the deadline
// has passed, and nobody is waited for: the asks may take the same deadline, and must be
// cancel-safe. Cancel-safe: aborting aborts every ask.
template <class T, class Tally = HedgeTally, class Lanes = detail::HedgeLanes<T>>
platform::Task<Hedged<T>> hedge(HedgePolicy policy, std::uint32_t candidates, Ask<T> ask,
                                runtime::Deadline deadline) {
  using runtime::Deadline;
  Tally tally(policy, candidates);
  Lanes lanes;
  const Deadline hedge_at = Deadline::in(policy.hedge_after);
  for (;;) {
    while (tally.wants_another() && !deadline.passed()) {
      const std::uint32_t who = tally.asked();
      tally.ask();
      lanes.ask(who, ask(who));
      lanes.collect(tally);
    }
    if (tally.won()) {
      auto late = lanes.overtaken();
      co_return Hedged<T>{lanes.take_answers(), tally.asked(), tally.hedged(), std::move(late)};
    }
    if (tally.lost()) {
      co_return Hedged<T>{base::fail(tally.verdict()), tally.asked(), tally.hedged()};
    }
    const Deadline until = tally.can_hedge() ? deadline.sooner(hedge_at) : deadline;
    const std::optional<std::size_t> first = co_await runtime::wait_any(lanes.ends(), until);
    if (first) {
      lanes.collect(tally);
    } else if (!deadline.passed()) {
      tally.hedge();
    } else {
      auto late = lanes.out_since(deadline.at() - policy.hedge_after);
      co_return Hedged<T>{base::fail(base::Code::Timeout, "nobody answered before the deadline"),
                          tally.asked(), tally.hedged(), std::move(late)};
    }
  }
}

}  // namespace ron::index
