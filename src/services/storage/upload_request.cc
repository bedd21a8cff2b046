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

base::Result<void> check_part_number(const volume::Upload& upload, std::uint64_t part) {
  if (part < upload.parts()) return {};
  return base::fail(base::Error(Code::Malformed, "the upload has no such part")
                        .with("part", std::to_string(part))
                        .with("parts", std::to_string(upload.parts())));
}

base::Result<void> check_part_length(const volume::Upload& upload, std::uint64_t part,
                                     std::uint64_t length) {
  const std::uint64_t expected = upload.part_length(part);
  if (length == expected) return {};
  const bool is_long = length > expected;
  return base::fail(base::Error(is_long ? Code::BodyCap : Code::Malformed,
                                is_long ? "the part is longer than it may be"
                                        : "the part is shorter than it has to be")
                        .with("length", std::to_string(length))
                        .with("expected", std::to_string(expected)));
}

}  // namespace ron::storage
