// Bodies of PUT /names: taken, or refused with a reason; what is taken is kept as it was said.
#include <cstdint>
#include <cstdlib>

#include "base/value.h"
#include "services/index/name_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ron;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = base::parse_json(text);
  if (!value) return 0;
  const auto request = index::parse_set_request(*value);
  if (!request) {
    if (request.error().message.empty()) std::abort();
    return 0;
  }
  index::NameVersion version = request->wanted;
  version.name = "fuzz";
  const auto kept = index::decode_name_version(index::encode(version));
  if (!kept || *kept != version || !version.target) std::abort();
  return 0;
}
