#include "b3/outboard.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <string>

#include "b3/hash.h"

namespace ron::b3 {

namespace {

using Head = std::array<std::byte, kOutboardHeadBytes>;

static_assert(sizeof(Parent) == kParentBytes);
static_assert(kMaxGroups <= UINT64_MAX / kParentBytes - 1, "outboard_bytes cannot overflow");

Head head_for(std::uint64_t total_bytes) noexcept {
  Head head{std::byte{'b'}, std::byte{'3'},
            std::byte{'o'}, std::byte{'b'},
            std::byte{1},   std::byte{static_cast<unsigned char>(std::countr_zero(kGroupBytes))}};
  for (std::size_t i = 0; i < 8; ++i) {
    head[8 + i] = static_cast<std::byte>(total_bytes >> (8 * i));
  }
  return head;
}

// Writes the parents over `groups` in pre-order from `out` on and returns the value on top.
// Recursion is as deep as the tree.
ChainingValue write_parents(std::span<const ChainingValue> groups, std::byte* out) noexcept {
  if (groups.size() == 1) return groups[0];
  const std::size_t left = left_units(groups.size());
  const Parent parent{write_parents(groups.first(left), out + kParentBytes),
                      write_parents(groups.subspan(left), out + left * kParentBytes)};
  std::memcpy(out, &parent, sizeof parent);
  return parent_of(parent.left, parent.right);
}

}  // namespace

base::Result<OutboardView> OutboardView::of_parents(base::ByteView parents,
                                                    std::uint64_t total_bytes) {
  const std::uint64_t expected = parent_count(total_bytes) * kParentBytes;
  if (parents.size() != expected) {
    return base::fail(base::Code::IntegrityFail,
                      "the outboard's parents take " + std::to_string(parents.size()) +
                          " bytes where " + std::to_string(expected) + " are due");
  }
  return OutboardView(parents, total_bytes);
}

base::Result<OutboardView> OutboardView::parse(base::ByteView serialised,
                                               std::uint64_t total_bytes) {
  const Head head = head_for(total_bytes);
  if (serialised.size() < head.size() ||
      std::memcmp(serialised.data(), head.data(), head.size()) != 0) {
    return base::fail(base::Code::IntegrityFail, "this is not the outboard of an object of " +
                                                     std::to_string(total_bytes) + " bytes");
  }
  return of_parents(serialised.subspan(head.size()), total_bytes);
}

Parent OutboardView::parent(std::uint64_t slot) const noexcept {
  assert(slot < parents_.size() / kParentBytes);
  Parent parent;
  std::memcpy(&parent, parents_.data() + slot * kParentBytes, sizeof parent);
  return parent;
}

Outboard::Outboard(std::uint64_t total_bytes)
    : total_bytes_(total_bytes), serialised_(outboard_bytes(total_bytes)) {
  const Head head = head_for(total_bytes);
  std::memcpy(serialised_.data(), head.data(), head.size());
}

Outboard Outboard::of(base::ByteView bytes) {
  if (bytes.size() <= kGroupBytes) {
    Outboard single(bytes.size());
    single.id_ = hash(bytes);
    return single;
  }
  std::vector<ChainingValue> groups(group_count(bytes.size()));
  group_values(bytes, 0, groups);
  return *from_groups(bytes.size(), groups);
}

base::Result<Outboard> Outboard::from_groups(std::uint64_t total_bytes,
                                             std::span<const ChainingValue> groups) {
  // Before the memory for the parents: a wrong length must not decide how much is allocated.
  if (total_bytes <= kGroupBytes || groups.size() != group_count(total_bytes)) {
    return base::fail(base::Code::Internal, "no outboard of an object of " +
                                                std::to_string(total_bytes) +
                                                " bytes can be made from " +
                                                std::to_string(groups.size()) + " group values");
  }
  Outboard made(total_bytes);
  write_parents(groups, made.serialised_.data() + kOutboardHeadBytes);
  const Parent top = made.view().parent(0);
  made.id_ = root_of_pair(top.left, top.right);
  return made;
}

OutboardView Outboard::view() const noexcept {
  return *OutboardView::of_parents(base::ByteView(serialised_).subspan(kOutboardHeadBytes),
                                   total_bytes_);
}

}  // namespace ron::b3
