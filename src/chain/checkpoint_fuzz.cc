// Arbitrary text as a checkpoint: what is accepted prints to the same text and can be signed.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/bytes.h"
#include "chain/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = ron::base::as_text(std::as_bytes(std::span(data, size)));
  const auto checkpoint = ron::chain::parse_checkpoint(text);
  if (!checkpoint) return 0;
  if (ron::chain::print_checkpoint(*checkpoint).value() != text) std::abort();
  if (!ron::chain::is_note_text(text)) std::abort();
  if (checkpoint->pruned_below > checkpoint->version) std::abort();
  return 0;
}
