// Pool: objects of one core that are used again instead of being made anew. Keeps a bounded number;
// what is taken holds whatever its last user left in it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace ron::http {

template <class T, std::size_t kKept = 256>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::unique_ptr<T> take() {
    if (count_ > 0) return std::move(free_[--count_]);
    return std::make_unique_for_overwrite<T>();
  }
  void give_back(std::unique_ptr<T> object) {
    if (object && count_ < kKept) free_[count_++] = std::move(object);
  }

 private:
  std::array<std::unique_ptr<T>, kKept> free_;
  std::size_t count_ = 0;
};

// An object that finds its way back to its pool, which outlives it. Empty, or taken from a pool.
template <class T, std::size_t kKept = 256>
class Held {
 public:
  Held() = default;
  Held(Pool<T, kKept>& pool, std::unique_ptr<T> object) noexcept
      : pool_(&pool), object_(std::move(object)) {}
  explicit Held(Pool<T, kKept>& pool) : Held(pool, pool.take()) {}
  Held(Held&& other) noexcept : pool_(other.pool_), object_(std::move(other.object_)) {}
  Held& operator=(Held&& other) noexcept {
    reset();
    pool_ = other.pool_;
    object_ = std::move(other.object_);
    return *this;
  }
  ~Held() { reset(); }

  explicit operator bool() const noexcept { return object_ != nullptr; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_.get(); }
  void reset() noexcept {
    if (object_) pool_->give_back(std::move(object_));
  }

 private:
  Pool<T, kKept>* pool_ = nullptr;
  std::unique_ptr<T> object_;
};

}  // namespace ron::http
