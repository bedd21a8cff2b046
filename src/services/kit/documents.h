// Documents: what clients send and get, as JSON or as CBOR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"
#include "http/request.h"
#include "http/response.h"
#include "platform/task.h"

namespace ron::kit {

// The body, by its Content-Type: application/json (also without one) or application/cbor. In CBOR
// it has to be deterministic. UnsupportedMedia, Malformed, and what reading says. Cancel-safe.
platform::Task<base::Result<base::Value>> read_document(http::Request* request);

bool wants_cbor(const http::Request& request) noexcept;
// By Accept: CBOR if the client asks for it, else JSON.
http::Response document(const http::Request& request, int status, const base::Value& value);
// The same with an entity-tag (without quotes), 304 if the client has it, and how long it holds.
enum class Lasting : std::uint8_t { Revalidate, Immutable };
http::Response tagged_document(const http::Request& request, std::string_view tag, Lasting lasting,
                               const base::Value& value);
// The same without the body: 304 if the client has it, else a 200 whose body and Content-Type,
// which content_type() says, are still to come. For documents that are large.
http::Response tagged_head(const http::Request& request, std::string_view tag, Lasting lasting);
std::string_view content_type(bool is_cbor) noexcept;

// A number of the query; nothing: it is not there. Malformed.
base::Result<std::optional<std::uint64_t>> query_number(const http::Request& request,
                                                        std::string_view name);
// A text of the query with at most `most_bytes`; nothing: it is not there. Malformed.
base::Result<std::optional<std::string>> query_text(const http::Request& request,
                                                    std::string_view name, std::size_t most_bytes);
// A decimal number without sign or leading zeros.
std::optional<std::uint64_t> parse_number(std::string_view text) noexcept;

}  // namespace ron::kit
