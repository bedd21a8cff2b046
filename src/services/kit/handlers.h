// What the handlers of every service need.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/error.h"
#include "base/result.h"
#include "http/request.h"
#include "http/response.h"
#include "http/router.h"
#include "platform/task.h"

namespace ron::kit {

// A handler that asks `api`, which outlives the router.
template <class Api>
using ApiHandler = platform::Task<http::Response> (*)(Api*, http::Request*);
template <class Api>
http::Handler bind_api(Api& api, std::type_identity_t<ApiHandler<Api>> handler) {
  return [&api, handler](http::Request* request) { return handler(&api, request); };
}

// The error's envelope; a full queue is counted as this route's.
http::Response refuse(const http::Request& request, const base::Error& error);
// Forbidden when the capability allows smaller bodies only.
base::Result<void> check_grant(const http::Request& request, std::uint64_t bytes);

}  // namespace ron::kit
