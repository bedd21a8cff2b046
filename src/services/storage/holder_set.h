// HolderSet: who holds an object in memory. Mostly one, which takes no allocation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ron::storage {

// Who stores objects; a small number its owner gives out.
using OwnerNumber = std::uint32_t;

enum class Adding : std::uint8_t {
  New,
  Held,      // it was there, and has one more holder now
  Existing,  // it was there, and held by this one
};

// What a removal has taken away.
struct Taken {
  std::shared_ptr<const void> object;  // keeps its room until it goes
  std::uint64_t length = 0;
  std::vector<OwnerNumber> holders;  // whose holds
  bool gone = false;                 // the object, with the last of them
};

// Guarded by whatever guards the object.
class HolderSet {
 public:
  explicit HolderSet(OwnerNumber first) : first_(first) {}

  [[nodiscard]] bool has(OwnerNumber owner) const {
    return first_ == owner || std::ranges::find(others_, owner) != others_.end();
  }
  [[nodiscard]] bool empty() const noexcept { return !first_; }
  // What more than one take besides the object, rounded up.
  [[nodiscard]] std::uint64_t extra_bytes() const noexcept { return others_.size() * kHolderBytes; }
  [[nodiscard]] std::vector<OwnerNumber> all() const {
    std::vector<OwnerNumber> owners = others_;
    if (first_) owners.push_back(*first_);
    return owners;
  }

  // It is not among them, and there is one.
  void add(OwnerNumber owner) { others_.push_back(owner); }
  // Takes this one away, or all of them; who was taken.
  std::vector<OwnerNumber> take(std::optional<OwnerNumber> owner) {
    if (!owner) {
      std::vector<OwnerNumber> taken = all();
      first_.reset();
      others_.clear();
      return taken;
    }
    if (!has(*owner)) return {};
    if (first_ != owner) {
      std::erase(others_, *owner);
    } else if (others_.empty()) {
      first_.reset();
    } else {
      first_ = others_.back();
      others_.pop_back();
    }
    return {*owner};
  }

  static constexpr std::uint64_t kHolderBytes = 2 * sizeof(OwnerNumber);

 private:
  std::optional<OwnerNumber> first_;
  std::vector<OwnerNumber> others_;
};

}  // namespace ron::storage
