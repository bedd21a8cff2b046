#include "services/kit/cors.h"

#include <algorithm>

namespace ron::kit {
namespace {

constexpr std::string_view kPreflightSeconds = "600";

bool says(const http::Response& response, std::string_view name) noexcept {
  return response.lines.find(name) != std::string::npos ||
         response.prepared_lines.find(name) != std::string_view::npos;
}

}  // namespace

bool allows_origin(std::span<const std::string> origins, std::string_view origin) noexcept {
  return std::ranges::any_of(
      origins, [origin](const std::string& one) { return one == kAnyOrigin || one == origin; });
}

bool is_preflight(const http::Request& request) noexcept {
  return request.head->method == http::Method::Options && request.head->find("Origin") &&
         request.head->find("Access-Control-Request-Method");
}

http::Response allow_preflight(const http::Request& request, std::string_view methods) {
  http::Response response(204);
  response.add("Access-Control-Allow-Methods", methods);
  if (const auto fields = request.head->find("Access-Control-Request-Headers")) {
    response.add("Access-Control-Allow-Headers", *fields);
  }
  response.add("Access-Control-Max-Age", kPreflightSeconds);
  return response;
}

void allow_origin(http::Response& response, std::string_view origin) {
  if (says(response, "Access-Control-Allow-Origin: ")) return;
  response.add("Access-Control-Allow-Origin", origin);
  response.add("Access-Control-Expose-Headers",
               "Age, Content-Range, ETag, Location, Retry-After, X-Cache, X-Corr-ID");
  if (origin != kAnyOrigin) response.add("Vary", "Origin");
}

}  // namespace ron::kit
