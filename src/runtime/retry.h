// Retry with jitter, for operations that may safely run twice.
//
// A failed try is repeated only when its error's code says that a retry helps, the deadline leaves
// room for the wait, and the shared budget has a token. The budget keeps a struggling target from
// being hit by a multiple of the normal load: over time retries stay below a fixed share of first
// tries.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "platform/random.h"
#include "platform/task.h"
#include "runtime/backoff.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"

namespace ron::runtime {

struct RetryPolicy {
  std::uint32_t max_tries = 3;  // the first one included
  Backoff backoff{};
};

// Tokens shared by everyone who calls the same target. Any thread; lock-free.
// Invariant: withdrawals <= reserve + ratio * deposits.
class RetryBudget {
 public:
  // Each first try deposits `ratio` tokens (0.2: one retry for five first tries), each retry costs
  // one. Never more than `reserve` are kept; the budget starts full, so that a quiet caller may
  // retry too.
  explicit RetryBudget(double ratio = 0.2, std::uint32_t reserve = 10) noexcept;
  RetryBudget(const RetryBudget&) = delete;
  RetryBudget& operator=(const RetryBudget&) = delete;

  void deposit() noexcept;
  // False, and nothing taken, when less than one token is left.
  [[nodiscard]] bool withdraw() noexcept;

 private:
  const std::uint64_t ratio_milli_;
  const std::uint64_t most_milli_;
  std::atomic<std::uint64_t> milli_;  // thousandths of a token
};

// Runs one named operation under a policy. Lives on one executor; the budget may be shared with
// others and outlives it.
class Retrier {
 public:
  Retrier(Meters& meters, std::string_view op, RetryPolicy policy, RetryBudget& budget,
          platform::Random& random);
  Retrier(const Retrier&) = delete;
  Retrier& operator=(const Retrier&) = delete;

  // Calls `operation()`, which returns Task<Result<T>>, until it succeeds or trying again is
  // pointless; the last result is returned. Sleeps never reach the deadline. Cancel-safe if the
  // operation is: a retry that was scheduled stays charged to the budget.
  template <class Operation>
  std::invoke_result_t<Operation&> run(Operation operation, Deadline deadline) {
    budget_.deposit();
    for (std::uint32_t tried = 1;; ++tried) {
      auto task = operation();
      auto result = co_await task;
      if (result) co_return result;
      const Deadline again = schedule(result.error(), tried, deadline);
      if (again == Deadline()) co_return result;
      co_await sleep_until(again);
    }
  }

 private:
  // When the next try starts, charged and counted; never (the default deadline) if there is none.
  Deadline schedule(const base::Error& error, std::uint32_t tried, Deadline deadline);

  RetryPolicy policy_;
  RetryBudget& budget_;
  platform::FastRandom jitter_;
  Counter& retries_;
};

}  // namespace ron::runtime
