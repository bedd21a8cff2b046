// What the errors of a TLS handshake say in their details.
#pragma once

#include <string_view>

namespace ron::platform {

// The peer's certificate does not verify, and why: another try finds the same one.
inline constexpr std::string_view kCertificateDetail = "certificate";

}  // namespace ron::platform
