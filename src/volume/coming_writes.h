// ComingWrites: how many writes are on their way to the volumes of a service. While there are any,
// a writer that has something to sync waits for them, up to the commit window.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace ron::volume {

// Any thread. Outlives its announcements and the volumes that look at it.
class ComingWrites {
 public:
  // One write. It travels with the write, and goes when the writer has taken that up or when the
  // write was given up on the way.
  class [[nodiscard]] Announcement {
   public:
    Announcement() = default;
    Announcement(Announcement&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Announcement& operator=(Announcement&& other) noexcept {
      std::swap(of_, other.of_);
      return *this;
    }
    ~Announcement() { withdraw(); }

    void withdraw() noexcept {
      if (auto* const of = std::exchange(of_, nullptr)) {
        of->count_.fetch_sub(1, std::memory_order_relaxed);
      }
    }

   private:
    friend class ComingWrites;
    explicit Announcement(ComingWrites* of) noexcept : of_(of) {
      of_->count_.fetch_add(1, std::memory_order_relaxed);
    }
    ComingWrites* of_ = nullptr;
  };

  ComingWrites() = default;
  ComingWrites(const ComingWrites&) = delete;
  ComingWrites& operator=(const ComingWrites&) = delete;

  Announcement announce() noexcept { return Announcement(this); }
  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }

 private:
  std::atomic<std::uint32_t> count_ = 0;
};

}  // namespace ron::volume
