#include "platform/posix/loop.h"

#include <array>
#include <cerrno>
#include <system_error>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "platform/posix/clock.h"

namespace ron::platform::posix {
namespace {

constexpr int kEventsPerTurn = 256;
constexpr int kJobsPerTurn = 1024;
constexpr int kLongestSleepMs = 10'000;

}  // namespace

Loop::Loop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      now_(read_monotonic()) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  if (epoll_ < 0 || wake_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll");
  }
}

Loop::~Loop() {
  close(epoll_);
  close(wake_);
}

void Loop::run() {
  const Entered entered(*this);
  while (!stopping_.load(std::memory_order_acquire)) {
    poll_descriptors();
    timers_.fire_due(now_);
    run_jobs();
  }
}

void Loop::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  kick();
}

int Loop::add(int descriptor, IoSource& source) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &source;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
}

void Loop::post(Job& job) noexcept {
  if (current() == this) {
    if (move_place(job, Place::Nowhere, Place::Local)) ready_.push_back(job);
    return;
  }
  bool wake = false;
  {
    const std::lock_guard lock(inbox_mutex_);
    while (!move_place(job, Place::Nowhere, Place::Inbox)) {
      // Queued already, unless the loop has just taken it: then queue it again.
      if (move_place(job, Place::Local, Place::Local)) return;
      if (move_place(job, Place::Inbox, Place::Inbox)) return;
      if (move_place(job, Place::Deferred, Place::Deferred)) return;
    }
    inbox_.push_back(job);
    wake = std::exchange(asleep_, false);
  }
  if (wake) kick();
}

void Loop::defer(Job& job) noexcept {
  if (move_place(job, Place::Nowhere, Place::Deferred)) deferred_.push_back(job);
}

bool Loop::unpost(Job& job) noexcept {
  if (place(job) == Place::Nowhere) return false;
  const std::lock_guard lock(inbox_mutex_);
  const Place where = place(job);
  JobList& local = where == Place::Deferred ? deferred_ : ready_;
  (where == Place::Inbox ? inbox_ : local).remove(job);
  set_place(job, Place::Nowhere);
  return true;
}

void Loop::run_jobs() noexcept {
  collect_inbox(false);
  // What was deferred in the last turn goes behind the sockets and timers that became ready since.
  for (Job* job = deferred_.front(); job != nullptr; job = JobList::next(*job)) {
    move_place(*job, Place::Deferred, Place::Local);
  }
  ready_.splice(deferred_);
  for (int budget = kJobsPerTurn; budget > 0 && !ready_.empty(); --budget) {
    Job& job = *ready_.front();
    ready_.remove(job);
    move_place(job, Place::Local, Place::Nowhere);
    job.run();
  }
}

// Moves what other threads posted into the ready queue; true if there is something to run.
bool Loop::collect_inbox(bool about_to_sleep) noexcept {
  const std::lock_guard lock(inbox_mutex_);
  for (Job* job = inbox_.front(); job != nullptr; job = JobList::next(*job)) {
    set_place(*job, Place::Local);
  }
  ready_.splice(inbox_);
  const bool busy = !ready_.empty() || !deferred_.empty();
  if (about_to_sleep && !busy) asleep_ = true;
  return busy;
}

void Loop::poll_descriptors() noexcept {
  std::array<epoll_event, kEventsPerTurn> events;  // NOLINT: filled by the kernel
  const bool busy = collect_inbox(true) || stopping_.load(std::memory_order_relaxed);
  const int count = epoll_wait(epoll_, events.data(), kEventsPerTurn, busy ? 0 : sleep_ms());
  {
    const std::lock_guard lock(inbox_mutex_);
    asleep_ = false;
  }
  now_ = read_monotonic();
  begin_turn();
  for (int i = 0; i < count; ++i) {
    auto* source = static_cast<IoSource*>(events[static_cast<std::size_t>(i)].data.ptr);
    if (source != nullptr) {
      source->notify(events[static_cast<std::size_t>(i)].events);
    } else {
      std::uint64_t ticks = 0;
      [[maybe_unused]] const auto n = read(wake_, &ticks, sizeof ticks);
    }
  }
}

int Loop::sleep_ms() const noexcept {
  if (timers_.empty()) return kLongestSleepMs;
  const auto wait = timers_.next_due() - now_;
  if (wait.count() <= 0) return 0;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  return ms < kLongestSleepMs ? static_cast<int>(ms) : kLongestSleepMs;
}

void Loop::kick() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = write(wake_, &one, sizeof one);
}

}  // namespace ron::platform::posix
