// Any bytes a client may send to begin an upload: a request or a refusal, never anything else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "services/storage/upload_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto request = ron::storage::parse_upload_request(text);
  const auto number = ron::storage::parse_part_number(text);
  if (number && std::to_string(*number) != text) std::abort();
  if (!request && request.error().status() != 400) std::abort();
  return 0;
}
