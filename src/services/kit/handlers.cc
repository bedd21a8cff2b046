#include "services/kit/handlers.h"

#include <string>

namespace ron::kit {

using base::Code;

http::Response refuse(const http::Request& request, const base::Error& error) {
  if (error.code == Code::Busy && request.route_meters != nullptr) {
    request.route_meters->busy_rejections.add();
  }
  return http::Response::error(error, request.corr_id);
}

base::Result<void> check_grant(const http::Request& request, std::uint64_t bytes) {
  if (bytes <= request.grant_max_bytes) return {};
  return base::fail(base::Error(Code::Forbidden, "the capability allows smaller objects only")
                        .with("max_bytes", std::to_string(request.grant_max_bytes)));
}

}  // namespace ron::kit
