#include "platform/blocking.h"

namespace ron::platform {

void detail::BlockingStop::begin() noexcept {
  if (budget_ != kCallersBudget) end_ = pool_.now() + budget_;
}

base::StopCause detail::BlockingStop::cause() const noexcept {
  using base::StopCause;
  if (abandoned_.load(std::memory_order_relaxed)) return StopCause::Abandoned;
  if (pool_.is_ending_.load(std::memory_order_relaxed)) return StopCause::Ending;
  if (end_ != kNever && pool_.now() >= end_) return StopCause::Overdue;
  return StopCause::None;
}

BlockingPool::Place::Place(BlockingPool& pool, QueuedJob job) : pool_(pool), job_(std::move(job)) {
  const std::lock_guard lock(pool_.line_mutex_);
  if (pool_.first_ == nullptr && pool_.try_submit(job_)) return;
  had_to_wait_ = in_line_ = true;
  previous_ = pool_.last_;
  (previous_ != nullptr ? previous_->next_ : pool_.first_) = this;
  pool_.last_ = this;
}

bool BlockingPool::Place::leave() noexcept {
  if (!had_to_wait_) return false;
  const std::lock_guard lock(pool_.line_mutex_);
  if (!in_line_) return false;
  pool_.remove_from_line(*this);
  return true;
}

void BlockingPool::remove_from_line(Place& place) noexcept {
  (place.previous_ != nullptr ? place.previous_->next_ : first_) = place.next_;
  (place.next_ != nullptr ? place.next_->previous_ : last_) = place.previous_;
  place.previous_ = place.next_ = nullptr;
  place.in_line_ = false;
}

void BlockingPool::fill_places() noexcept {
  const std::lock_guard lock(line_mutex_);
  while (first_ != nullptr && try_submit(first_->job_)) remove_from_line(*first_);
}

void BlockingPool::drop_line() noexcept {
  const std::lock_guard lock(line_mutex_);
  while (first_ != nullptr) remove_from_line(*first_);
}

}  // namespace ron::platform
