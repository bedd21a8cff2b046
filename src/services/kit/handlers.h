// What the handlers of every service need.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "auth/access.h"
#include "base/error.h"
#include "base/result.h"
#include "http/request.h"
#include "http/response.h"
#include "http/router.h"
#include "platform/task.h"
#include "services/kit/list.h"

namespace ron::kit {

// A handler that asks `api`, which outlives the router.
template <class Api>
using ApiHandler = platform::Task<http::Response> (*)(Api*, http::Request*);
template <class Api>
http::Handler bind_api(Api& api, std::type_identity_t<ApiHandler<Api>> handler) {
  return [&api, handler](http::Request* request) { return handler(&api, request); };
}

// Routes that ask one api, as a list:
//
//   kit::Routes(router, core).add(Method::Post, "/echo", Access::read(), echo)
//                            .list(kEchoes, Access::read(), list_echoes);
//
// Both outlive the requests.
template <class Api>
class Routes {
 public:
  Routes(http::Router& router, Api& api) noexcept : router_(router), api_(api) {}

  const Routes& add(http::Method method, std::string pattern, auth::Access access,
                    std::type_identity_t<ApiHandler<Api>> handler) const {
    router_.add({.method = method,
                 .pattern = std::move(pattern),
                 .access = access,
                 .handler = bind_api(api_, handler)});
    return *this;
  }
  // A GET that lists things, at the pattern of its declaration.
  const Routes& list(const ListDecl& decl, auth::Access access,
                     std::type_identity_t<ApiHandler<Api>> handler) const {
    return add(http::Method::Get, std::string(decl.pattern), access, handler);
  }

 private:
  http::Router& router_;
  Api& api_;
};

// The error's envelope; a full queue is counted as this route's.
http::Response refuse(const http::Request& request, const base::Error& error);
// Forbidden when the capability allows smaller objects only. For those that come in several bodies:
// each body for itself is held to it where it is read.
base::Result<void> check_grant(const http::Request& request, std::uint64_t bytes);

}  // namespace ron::kit
