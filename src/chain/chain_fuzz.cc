// Entries, payloads and snapshots from strangers: parsed strictly, or refused; what is parsed
// prints the same.
#include <cstdint>
#include <cstdlib>

#include "chain/entry.h"
#include "chain/snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ron;
  const base::ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto entry = chain::decode_entry(bytes)) {
    if (chain::encode(*entry) != base::as_text(bytes)) std::abort();
    static_cast<void>(chain::describe(*entry));
  }
  static_cast<void>(chain::decode_payload(bytes));
  if (const auto json = base::parse_json(base::as_text(bytes))) {
    if (const auto payload = chain::parse_payload(*json)) {
      const std::string encoded = base::encode_cbor(*json);
      if (!chain::decode_payload(base::as_bytes(encoded))) std::abort();
    }
  }
  if (const auto snapshot = chain::decode_snapshot(bytes)) {
    static_cast<void>(chain::restore(*snapshot, chain::Signatures::Trust));
  }
  return 0;
}
