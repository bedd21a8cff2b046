// Proof files from strangers.
#include <cstdint>
#include <cstdlib>

#include "chain/proof.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ron;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto proof = chain::parse_proof(text);
  if (!proof) return 0;
  const auto again = chain::parse_proof(chain::print(*proof));
  if (!again || *again != *proof) std::abort();
  static_cast<void>(chain::verify_proof(*proof, ""));
  return 0;
}
