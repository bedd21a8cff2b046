// Epochs: how a change of what is kept voids the answers that were made from it before.
//
// An answer remembers the epochs of what it was made of, read before it was made; a change moves
// them on before anyone is told of it. While it is being written the epoch is odd, and no answer
// holds: between the moment at which the map shows the change and the one at which older answers
// are void nobody gets one of those after he has seen the change. Many keys share an epoch: then an
// answer is made once more than it had to be.
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
  static bool is_settled(std::uint64_t epoch) noexcept { return epoch % 2 == 0; }

  // By the one who writes: a change begins, and is over. Each slot once.
  void begin(Slot slot) noexcept { epochs_[slot].fetch_add(1, std::memory_order_acq_rel); }
  void finish(Slot slot) noexcept { epochs_[slot].fetch_add(1, std::memory_order_acq_rel); }
  // What was begun by one who was aborted is over.
  void settle() noexcept {
    for (auto& epoch : epochs_) {
      if (!is_settled(epoch.load(std::memory_order_relaxed))) {
        epoch.fetch_add(1, std::memory_order_acq_rel);
      }
    }
  }
  // Voids what was made before. Anyone.
  void advance(Slot slot) noexcept { epochs_[slot].fetch_add(2, std::memory_order_acq_rel); }
  void advance_all() noexcept {
    for (auto& epoch : epochs_) epoch.fetch_add(2, std::memory_order_acq_rel);
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
    return Epochs::is_settled(name_epoch) && Epochs::is_settled(address_epoch) &&
           epochs.at(name_slot) == name_epoch && epochs.at(address_slot) == address_epoch;
  }
};

}  // namespace ron::index
