// Executor: one thread of control, and the only thing that runs coroutines.
//
// Everything queued on an executor is intrusive: posting a job or arming a timer never allocates.
// The posix executor is an epoll loop on its own thread; the simulated one picks the next job by
// seed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/units.h"

namespace ron::platform {

// Monotonic time. Only executors and Clock hand out readings; there is no now() to call here.
struct MonotonicClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
};
using TimePoint = MonotonicClock::time_point;
inline constexpr TimePoint kNever = TimePoint::max();

class Executor;

// A piece of work that can sit in exactly one executor's queue. Its owner must keep it alive while
// it is queued, or take it back with Executor::unpost.
class Job {
 public:
  using Run = void (*)(Job&) noexcept;

  explicit Job(Run run) noexcept : run_(run) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void run() noexcept { run_(*this); }

 private:
  friend class JobList;
  friend class Executor;
  enum class Place : std::uint8_t { Nowhere, Local, Inbox, Deferred };

  Run run_;
  Job* previous_ = nullptr;
  Job* next_ = nullptr;
  std::atomic<Place> place_ = Place::Nowhere;  // posting threads race with the one that runs it

 protected:
  ~Job() = default;
};

// Doubly linked list of jobs. Not synchronised.
class JobList {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  [[nodiscard]] Job* front() const noexcept { return head_; }
  [[nodiscard]] static Job* next(const Job& job) noexcept { return job.next_; }

  void push_back(Job& job) noexcept {
    job.previous_ = tail_;
    job.next_ = nullptr;
    (tail_ != nullptr ? tail_->next_ : head_) = &job;
    tail_ = &job;
  }
  void remove(Job& job) noexcept {
    (job.previous_ != nullptr ? job.previous_->next_ : head_) = job.next_;
    (job.next_ != nullptr ? job.next_->previous_ : tail_) = job.previous_;
    job.previous_ = job.next_ = nullptr;
  }
  // Appends all of `other`, leaving it empty.
  void splice(JobList& other) noexcept {
    if (other.head_ == nullptr) return;
    other.head_->previous_ = tail_;
    (tail_ != nullptr ? tail_->next_ : head_) = other.head_;
    tail_ = other.tail_;
    other.head_ = other.tail_ = nullptr;
  }

 private:
  Job* head_ = nullptr;
  Job* tail_ = nullptr;
};

// A callback at a point in time, owned by whoever waits. Touch only on the executor's own thread.
class Timer {
 public:
  using Fire = void (*)(Timer&) noexcept;
  static constexpr std::uint32_t kIdle = std::numeric_limits<std::uint32_t>::max();

  explicit Timer(Fire fire) noexcept : fire_(fire) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  [[nodiscard]] bool armed() const noexcept { return heap_index_ != kIdle; }
  [[nodiscard]] TimePoint due() const noexcept { return due_; }

 private:
  friend class TimerHeap;
  Fire fire_;
  TimePoint due_{};
  std::uint64_t sequence_ = 0;  // arming order, so that equal times fire first come first served
  std::uint32_t heap_index_ = kIdle;

 protected:
  ~Timer() = default;
};

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Queues the job; it runs later on this executor's thread. Any thread may call it. A job that is
  // queued already stays where it is.
  virtual void post(Job& job) noexcept = 0;
  // Queues the job behind everything that is ready, sockets and timers included: so work that could
  // go on for ever lets others have their turn. Own thread only.
  virtual void defer(Job& job) noexcept { post(job); }
  // Takes a queued job back; false if it was not queued. Own thread only.
  virtual bool unpost(Job& job) noexcept = 0;

  // Arms or re-arms the timer. Own thread only.
  virtual void arm(Timer& timer, TimePoint due) noexcept = 0;
  virtual void disarm(Timer& timer) noexcept = 0;

  // Time at the start of the current turn of the loop: cheap, and stable within one job.
  [[nodiscard]] virtual TimePoint now() const noexcept = 0;

  // A turn is what runs between two looks at the sockets. Whoever finds work without ever having to
  // wait says what it did, as bytes that were hashed, copied or sent, and yields (platform::Yield)
  // before it takes more once the turn is over. Own thread only.
  static constexpr std::size_t kTurnBytes = base::kMiB;
  // What taking an item or a request counts besides its bytes.
  static constexpr std::size_t kItemBytes = 64 * base::kKiB;
  void spend(std::size_t bytes) noexcept { spent_bytes_ += bytes; }
  [[nodiscard]] bool turn_is_over() const noexcept { return spent_bytes_ >= kTurnBytes; }

  // The executor whose job is running on this thread, or nullptr.
  static Executor* current() noexcept { return current_; }

 protected:
  // Marks this executor as the running one for a scope, which begins a turn.
  class Entered {
   public:
    explicit Entered(Executor& executor) noexcept : outer_(current_) {
      current_ = &executor;
      executor.begin_turn();
    }
    ~Entered() { current_ = outer_; }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Executor* outer_;
  };

  void begin_turn() noexcept { spent_bytes_ = 0; }

  using Place = Job::Place;
  static Place place(const Job& job) noexcept { return job.place_.load(std::memory_order_acquire); }
  static void set_place(Job& job, Place place) noexcept {
    job.place_.store(place, std::memory_order_release);
  }
  // Moves the job from one place to another; false if it was not in the first. Moving it to where
  // it is publishes what the caller wrote before to the thread that will run the job.
  static bool move_place(Job& job, Place from, Place to) noexcept {
    return job.place_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }

 private:
  static thread_local constinit Executor* current_;

  std::size_t spent_bytes_ = 0;  // in this turn
};

}  // namespace ron::platform
