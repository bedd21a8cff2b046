// The index's hedged search under every order of events: what each target says and when, the
// hedge's timer, the deadline, its caller leaving, and every place in between where a job of the
// core may run. It is the search of services/index/hedge.h itself, on a core that is run step by
// step.
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/test_executor.h"
#include "services/index/hedge.h"

namespace ron::models {
namespace {

using namespace std::chrono_literals;
using index::Hedged;
using index::HedgePolicy;
using runtime::Deadline;

constexpr base::Duration kHedge = 150ms;
constexpr base::Duration kDeadline = 1200ms;

enum class Said : std::uint8_t { Nothing, Good, No, Failure };

// A target that was asked.
struct Asked {
  platform::Event answered;
  Said said = Said::Nothing;
  int times = 0;          // asked
  bool is_alive = false;  // its ask is under way
  bool has_ended = false;
};

struct Alive {
  explicit Alive(Asked* asked) : asked_(asked) { asked->is_alive = true; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  ~Alive() { asked_->is_alive = false; }

 private:
  Asked* asked_;
};

platform::Task<base::Result<int>> answer(Asked* asked, int who) {
  const Alive alive(asked);
  co_await asked->answered.wait();
  asked->has_ended = true;
  if (asked->said == Said::Good) co_return who;
  co_return base::fail(asked->said == Said::No ? base::Code::NotFound : base::Code::UpstreamFail,
                       "as the model says");
}

// Mistakes a hedge could contain.
struct CountsTwice : index::HedgeTally {
  using HedgeTally::HedgeTally;
  void answer(const base::Error* error) {
    HedgeTally::answer(error);
    if (error == nullptr) HedgeTally::answer(error);
  }
};
// Takes silence for a no.
struct GivesUpEarly : index::HedgeTally {
  using HedgeTally::HedgeTally;
  bool lost() const noexcept { return !won() && asked() > 1; }
};
// Asks everybody at once.
struct Impatient : index::HedgeTally {
  Impatient(HedgePolicy policy, std::uint32_t candidates) : HedgeTally(policy, candidates) {
    hedge();
  }
};
// Waits for the timer although nobody is left to wait for.
struct Stubborn : index::HedgeTally {
  using HedgeTally::HedgeTally;
  void answer(const base::Error* error) {
    if (error == nullptr) HedgeTally::answer(error);
  }
};
// Does not abort who lost.
std::vector<std::shared_ptr<void>>* left_behind = nullptr;
struct Leaky : index::detail::HedgeLanes<int> {
  ~Leaky() {
    for (Lane& lane : out_) left_behind->push_back(std::move(lane.running));
  }
};

// One search and all that can happen to it.
template <class Tally = index::HedgeTally, class Lanes = index::detail::HedgeLanes<int>>
class Search {
 public:
  static constexpr std::size_t kTargets = 3;

  Search(HedgePolicy policy, std::vector<Said> answers)
      : policy_(policy), answers_(std::move(answers)) {
    left_behind = &leaked_;
    running_.emplace(core_, index::hedge<int, Tally, Lanes>(
                                policy, kTargets, [this](std::uint32_t who) { return ask(who); },
                                Deadline(begun_ + kDeadline)));
    core_.run_one();  // it begins
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  ~Search() {
    core_.enter([&] { leaked_.clear(); });
  }

  // To its end, whatever happens.
  void run() {
    while (!running_->done() && !has_left_) {
      step();
      check_asks();
    }
    check_end();
  }

 private:
  // Any of what can happen next.
  void step() {
    std::vector<int> events;
    if (core_.ready()) events.push_back(kRunJob);
    if (core_.next_due() <= now_) events.push_back(kFireTimers);
    for (std::size_t i = 0; i < kTargets; ++i) {
      const Asked& target = targets_[i];
      if (!target.is_alive || target.said != Said::Nothing) continue;
      for (const Said said : answers_) {
        events.push_back(kAnswers + static_cast<int>(i) * 4 + static_cast<int>(said));
      }
    }
    if (passed() < kHedge) events.push_back(kHedgeTime);
    if (passed() < kDeadline) events.push_back(kDeadlineTime);
    events.push_back(kLeaves);
    happen(events[static_cast<std::size_t>(choose(static_cast<int>(events.size())))]);
  }
  void happen(int event) {
    left_behind = &leaked_;
    switch (event) {
      case kRunJob:
        core_.run_one();
        break;
      case kFireTimers:
        core_.fire_due();
        break;
      case kHedgeTime:
        now_ = begun_ + kHedge;
        break;
      case kDeadlineTime:
        now_ = begun_ + kDeadline;
        break;
      case kLeaves:
        running_->abort();
        has_left_ = true;
        break;
      default: {
        Asked& target = targets_[static_cast<std::size_t>((event - kAnswers) / 4)];
        target.said = static_cast<Said>((event - kAnswers) % 4);
        core_.enter([&] { target.answered.set(); });
      }
    }
  }
  [[nodiscard]] base::Duration passed() const { return now_ - begun_; }

  platform::Task<base::Result<int>> ask(std::uint32_t who) {
    const bool is_extra = who >= policy_.alpha;
    if (is_extra && passed() < kHedge && in_reach(policy_.alpha)) asked_too_early_ = true;
    Asked& target = targets_[who];
    ++target.times;
    return answer(&target, static_cast<int>(who));
  }
  // The first so many targets can still make the quorum.
  [[nodiscard]] bool in_reach(std::size_t first = kTargets) const {
    std::uint32_t possible = 0;
    for (std::size_t i = 0; i < first; ++i) {
      const bool is_out = targets_[i].times > 0 && !targets_[i].has_ended;
      const bool is_good = targets_[i].has_ended && targets_[i].said == Said::Good;
      if (is_out || is_good) ++possible;
    }
    return possible >= policy_.quorum;
  }
  [[nodiscard]] std::uint32_t most() const {
    return std::min<std::uint32_t>(kTargets, policy_.alpha + policy_.beta);
  }
  [[nodiscard]] std::uint32_t count(Said said) const {
    std::uint32_t sum = 0;
    for (const Asked& target : targets_) sum += target.has_ended && target.said == said ? 1 : 0;
    return sum;
  }
  [[nodiscard]] std::uint32_t asked() const {
    std::uint32_t sum = 0;
    for (const Asked& target : targets_) sum += target.times > 0 ? 1 : 0;
    return sum;
  }

  void check_asks() {
    for (const Asked& target : targets_) check(target.times <= 1, "nobody is asked twice");
    check(!asked_too_early_, "more are asked only after the hedge or when others cannot suffice");
    check(asked() <= most(), "no more are asked than alpha and beta");
    const bool is_busy = core_.ready() || core_.next_due() <= now_;
    if (is_busy || running_->done() || has_left_) return;
    check(in_reach(), "nobody waits for a quorum that cannot be had");
    check(count(Said::Good) < policy_.quorum, "or for more than the quorum");
    check(passed() < kHedge || asked() == most(), "the hedge is in time");
    check(passed() < kDeadline, "and so is the end");
  }
  void check_end() {
    for (const Asked& target : targets_) check(!target.is_alive, "whoever lost is aborted");
    check(core_.timers() == 0 && !core_.ready(), "nothing of it is left on the core");
    if (has_left_) return;
    const Hedged<int>& hedged = running_->value();
    check(hedged.asked == asked(), "it says how many were asked");
    check(hedged.hedged == (asked() > policy_.alpha), "and whether that was a hedge");
    if (hedged.answers) {
      check_won(*hedged.answers);
    } else {
      check_lost(hedged.answers.error().code);
    }
    for (const std::uint32_t who : hedged.late) {
      check(!targets_[who].has_ended, "whoever has answered is not late");
    }
  }
  void check_won(const std::vector<Hedged<int>::Answer>& answers) {
    check(answers.size() == policy_.quorum, "as many answers as the quorum");
    std::array<bool, kTargets> seen{};
    for (const auto& one : answers) {
      check(!seen[one.who], "of different targets");
      seen[one.who] = true;
      const bool is_good = targets_[one.who].has_ended && targets_[one.who].said == Said::Good;
      check(is_good && one.value == static_cast<int>(one.who), "which they gave");
    }
  }
  void check_lost(base::Code code) {
    check(count(Said::Good) < policy_.quorum, "a quorum is never overlooked");
    if (code == base::Code::Timeout) {
      check(passed() >= kDeadline, "time runs out at the deadline only");
      return;
    }
    check(asked() == most() && !in_reach(), "everybody was asked, and it cannot be had");
    const bool is_no = count(Said::No) >= policy_.quorum || count(Said::Failure) == 0;
    check((code == base::Code::NotFound) == is_no, "NotFound is what a quorum says");
  }

  enum Event : int { kRunJob, kFireTimers, kHedgeTime, kDeadlineTime, kLeaves, kAnswers };

  const HedgePolicy policy_;
  const std::vector<Said> answers_;  // what a target may say
  platform::TimePoint now_{1h};
  const platform::TimePoint begun_ = now_;
  runtime::TestCore core_{now_, nullptr};
  std::array<Asked, kTargets> targets_;
  bool has_left_ = false;
  bool asked_too_early_ = false;
  std::vector<std::shared_ptr<void>> leaked_;
  std::optional<runtime::Running<Hedged<int>>> running_;
};

const std::vector kGoodOrNo = {Said::Good, Said::No};
const std::vector kAnything = {Said::Good, Said::No, Said::Failure};

template <class... Broken>
Scenario search(std::uint32_t alpha, std::uint32_t beta, std::uint32_t quorum,
                const std::vector<Said>& answers = kGoodOrNo) {
  return [=](Model& model) {
    const HedgePolicy policy{.alpha = alpha, .beta = beta, .hedge_after = kHedge, .quorum = quorum};
    auto search = std::make_shared<Search<Broken...>>(policy, answers);
    model.thread("world", [search = search.get()] { search->run(); });
    model.finally([search] {});
  };
}

TEST(HedgeModel, OneAtOnceAndOneMore) {
  expect_holds("hedge/1+1, quorum 1, failures", search(1, 1, 1, kAnything));
}

TEST(HedgeModel, WithoutHedging) {
  expect_holds("hedge/2+0, quorum 1, failures", search(2, 0, 1, kAnything));
}

TEST(HedgeModel, AQuorumOfTwoWithoutHedging) {
  expect_holds("hedge/2+0, quorum 2, failures", search(2, 0, 2, kAnything));
}

TEST(HedgeModel, TwoAtOnceAndOneMore) { expect_holds("hedge/2+1, quorum 1", search(2, 1, 1)); }

TEST(HedgeModel, OneAtOnceAndTwoMore) { expect_holds("hedge/1+2, quorum 1", search(1, 2, 1)); }

TEST(HedgeModel, AQuorumOfTwo) { expect_holds("hedge/2+1, quorum 2", search(2, 1, 2)); }

TEST(HedgeModel, SeededBugsAreCaught) {
  expect_caught("hedge/quorum counted twice", search<CountsTwice>(2, 1, 2));
  expect_caught("hedge/gives up early", search<GivesUpEarly>(2, 1, 1));
  expect_caught("hedge/asks everybody at once", search<Impatient>(1, 1, 1));
  expect_caught("hedge/waits for nobody", search<Stubborn>(2, 0, 1));
  expect_caught("hedge/loser not aborted", search<index::HedgeTally, Leaky>(2, 1, 1));
}

}  // namespace
}  // namespace ron::models
