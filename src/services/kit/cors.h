// What pages of other origins may do (CORS): as every service that lets some of them says it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "http/request.h"
#include "http/response.h"

namespace ron::kit {

// In a list of origins: all of them.
inline constexpr std::string_view kAnyOrigin = "*";

bool allows_origin(std::span<const std::string> origins, std::string_view origin) noexcept;

// What a page asks before it does more than a simple request: OPTIONS with the method it means.
bool is_preflight(const http::Request& request) noexcept;
// Yes, with these methods (`GET, HEAD`); whose page it is comes with allow_origin().
http::Response allow_preflight(const http::Request& request, std::string_view methods);
// Said with every answer to a page that may have it, a preflight's included: that page's origin, or
// any. What has been said
// already, by a service further in, is not said twice.
void allow_origin(http::Response& response, std::string_view origin);

}  // namespace ron::kit
