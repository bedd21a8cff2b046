// Waiting for the first of many: wait_either.h for a number that is known only when it runs.
//
//   std::vector<EventOp> ends;
//   for (auto& lane : lanes) ends.push_back(lane->finished());
//   const std::optional<std::size_t> first = co_await wait_any(std::move(ends), deadline);
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/deadline.h"
#include "runtime/waiting.h"

namespace ron::runtime {

// Which of the operations was ready or closed first; the lowest wins a tie, and what is ready wins
// over the deadline. Nothing when the deadline passes before any. Operations are as those of
// wait_either(): they consume nothing. Cancel-safe.
template <class Op>
platform::Task<std::optional<std::size_t>> wait_any(std::vector<Op> ops, Deadline deadline) {
  platform::Parker parker;
  std::vector<std::unique_ptr<WaiterGuard<Op>>> waiters;  // they do not move
  for (Op& op : ops) waiters.push_back(std::make_unique<WaiterGuard<Op>>(op, parker));
  for (bool in_time = true;;) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].poll(waiters[i]->get()) != Poll::Pending) co_return i;
    }
    if (!in_time) co_return std::nullopt;
    assert_no_locks_held();
    in_time = co_await parker.park(deadline.at());
  }
}

}  // namespace ron::runtime
