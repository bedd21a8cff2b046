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

}  // namespace ron::http
