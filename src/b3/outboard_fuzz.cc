// Hostile outboards: parsing is bounded and exact, a true outboard verifies, and anything that
// differs from it by even one bit is refused. Input: a mode byte, then
//   even: 8 bytes of claimed length, then the outboard as it came from a disk or a peer
//   odd:  3 bytes of object length, 3 bytes of bit position, then the object's repeating pattern
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "b3/hash.h"
#include "b3/outboard.h"
#include "b3/verify.h"

namespace {

using ron::base::ByteView;
using namespace ron::b3;

void require(bool holds) {
  if (!holds) std::abort();
}

std::uint64_t take_number(ByteView& input, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes && !input.empty(); ++i) {
    number |= std::to_integer<std::uint64_t>(input[0]) << (8 * i);
    input = input.subspan(1);
  }
  return number;
}

void hostile_outboard(ByteView input) {
  const std::uint64_t claimed = take_number(input, 8);
  const auto view = OutboardView::parse(input, claimed);
  require(view.has_value() || view.error().code == ron::base::Code::IntegrityFail);
  if (!view) return;
  require(input.size() == outboard_bytes(claimed));
  // The address of the outboard's own bytes: never the root of the tree it claims.
  Verifier verifier(hash(input), *view);
  const std::vector<std::byte> zeros(kGroupBytes);
  for (const std::uint64_t index :
       {std::uint64_t{0}, view->groups() - 1, view->groups(), claimed}) {
    require(!verifier.verify_group(index, ByteView(zeros).first(group_length(claimed, index))));
  }
  require(verifier.verify_outboard().has_value() == (view->groups() == 1));
}

bool readable(const ron::base::ObjectId& id, ByteView object, ByteView outboard) {
  const auto view = OutboardView::parse(outboard, object.size());
  return view && Verifier(id, *view).verify_groups(0, object);
}

void flipped_bit(ByteView input) {
  const std::size_t size = take_number(input, 3) % (5 * kGroupBytes);
  const std::uint64_t position = take_number(input, 3);
  std::vector<std::byte> object(size);
  for (std::size_t i = 0; i < size && !input.empty(); ++i) object[i] = input[i % input.size()];
  Outboard made = Outboard::of(object);
  const ron::base::ObjectId id = made.id();
  require(id == hash(object));
  std::vector<std::byte> outboard = std::move(made).serialised();
  require(readable(id, object, outboard));
  const std::uint64_t bit = position % (8 * (size + outboard.size()));
  std::byte& hit = bit / 8 < size ? object[bit / 8] : outboard[bit / 8 - size];
  hit ^= std::byte{1} << (bit % 8);
  require(!readable(id, object, outboard));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteView input{reinterpret_cast<const std::byte*>(data), size};
  if (take_number(input, 1) % 2 == 0) {
    hostile_outboard(input);
  } else {
    flipped_bit(input);
  }
  return 0;
}
