#include "chain/genesis.h"

#include "base/ulid.h"
#include "base/value.h"
#include "chain/change.h"
#include "chain/entry.h"

namespace ron::chain {

std::string genesis_entry(const SignerSet& signers, std::int64_t now_ms, platform::Random& random) {
  Entry entry;
  entry.proposal = base::Ulid(static_cast<std::uint64_t>(now_ms),
                              static_cast<std::uint16_t>(random.next()), random.next());
  entry.payload = base::encode_cbor(genesis_value(signers));
  entry.at_ms = now_ms;
  return encode(entry);
}

}  // namespace ron::chain
