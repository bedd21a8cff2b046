// Epochs: how a change of what is kept voids the answers that were made from it before.
//
// An answer remembers the epochs of what it was made of, read before it was made; a change moves
// them on before anyone is told of it. Many keys share an epoch: then an answer is made once more
// than it had to be.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/object_id.h"

namespace ron::index {

// Any thread.
class Epochs {
 public:
  using Slot = std::uint32_t;
  static constexpr std::size_t kSlots = 8192;

  static Slot slot_of(std::string_view name) noexcept {
    return static_cast<Slot>(std::hash<std::string_view>{}(name) % kSlots);
  }
  static Slot slot_of(const base::ObjectId& address) noexcept {
    return static_cast<Slot>(address.hash() % kSlots);
  }

  [[nodiscard]] std::uint64_t at(Slot slot) const noexcept {
    return epochs_[slot].load(std::memory_order_acquire);
  }
  void advance(Slot slot) noexcept { epochs_[slot].fetch_add(1, std::memory_order_acq_rel); }
  void advance_all() noexcept {
    for (auto& epoch : epochs_) epoch.fetch_add(1, std::memory_order_acq_rel);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kSlots> epochs_{};
};

// What an answer was made of.
struct Basis {
  Epochs::Slot name_slot = 0;
  Epochs::Slot address_slot = 0;
  std::uint64_t name_epoch = 0;
  std::uint64_t address_epoch = 0;

  [[nodiscard]] bool holds(const Epochs& epochs) const noexcept {
    return epochs.at(name_slot) == name_epoch && epochs.at(address_slot) == address_epoch;
  }
};

}  // namespace ron::index
