// The hashes and comparisons this folder needs, over OpenSSL's libcrypto. Pure functions, any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace ron::auth {

using Digest = std::array<std::byte, 32>;

// Nothing when libcrypto fails (out of memory); callers must then refuse. `key` must not be empty.
[[nodiscard]] std::optional<Digest> hmac_sha256(base::ByteView key, base::ByteView data) noexcept;
[[nodiscard]] std::optional<Digest> sha256(base::ByteView data) noexcept;
// Of the parts one behind the other, as if they were one.
[[nodiscard]] std::optional<Digest> sha256(std::initializer_list<base::ByteView> parts) noexcept;

// Equal contents, in time that depends on the lengths only.
[[nodiscard]] bool equal_in_constant_time(base::ByteView a, base::ByteView b) noexcept;

// Exactly this many hex digits, none of them a capital: the form ids are kept and compared in.
[[nodiscard]] bool is_lower_hex(std::string_view text, std::size_t digits) noexcept;

}  // namespace ron::auth
