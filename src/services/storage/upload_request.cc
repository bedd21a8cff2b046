#include "services/storage/upload_request.h"

#include <charconv>
#include <string>

#include <nlohmann/json.hpp>

#include "services/storage/flat_json.h"

namespace ron::storage {
namespace {

using base::Code;
using base::fail;

base::Error malformed(std::string message) { return {Code::Malformed, std::move(message)}; }

}  // namespace

base::Result<UploadRequest> parse_upload_request(std::string_view text) {
  if (text.size() > kUploadRequestBytes) return fail(malformed("the request is too long"));
  const auto json = parse_flat_object(text);
  if (!json) {
    return fail(malformed(R"(the body is not {"length":N,"address":"b3:..."})"));
  }
  UploadRequest request;
  bool has_length = false;
  for (const auto& [key, value] : json->items()) {
    if (key == "length") {
      if (!value.is_number_unsigned()) {
        return fail(malformed("length is not a whole number of bytes"));
      }
      request.length = value.get<std::uint64_t>();
      has_length = true;
    } else if (key == "address") {
      if (!value.is_string()) return fail(malformed("address is not a text"));
      const auto address = base::ObjectId::parse(value.get<std::string>());
      if (!address) return fail(address.error());
      request.address = *address;
    } else {
      return fail(malformed("an upload has a length and an address, nothing else"));
    }
  }
  if (!has_length) return fail(malformed("length is missing"));
  return request;
}

base::Result<std::uint64_t> parse_part_number(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, status] = std::from_chars(text.data(), end, number);
  const bool padded = text.size() > 1 && text.front() == '0';
  if (text.empty() || padded || status != std::errc() || at != end) {
    return fail(malformed("the part is not a number"));
  }
  return number;
}

}  // namespace ron::storage
