// Arbitrary bytes as a provider record: what is accepted encodes to the same bytes, and a record
// that is signed anew is accepted again.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/bytes.h"
#include "catalog/provider_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace catalog = ron::catalog;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto record = catalog::decode_provider_record(bytes);
  if (!record) return 0;
  if (catalog::encode(*record) != ron::base::as_text(bytes)) std::abort();
  static const auto key =
      ron::auth::SigningKey::from_seed(ron::base::as_bytes("0123456789abcdef0123456789abcdef"));
  const auto again = catalog::sign(*record, key.value());
  if (!again || !catalog::has_valid_signature(*again)) std::abort();
  const std::string text = catalog::encode(*again);
  if (catalog::decode_provider_record(ron::base::as_bytes(text)) != *again) std::abort();
  return 0;
}
