// Request: one parsed request on its way to a handler. Lives in the connection's frame while the
// handler runs; handlers take it by pointer and must not keep it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/ulid.h"
#include "http/body.h"
#include "http/client_share.h"
#include "http/head.h"
#include "platform/net.h"
#include "runtime/deadline.h"

namespace ron::http {

struct Route;
class RouteMeters;

struct Request {
  static constexpr std::size_t kParams = 4;

  const RequestHead* head = nullptr;
  std::string_view path;   // decoded, in normal form
  std::string_view query;  // as sent
  const Route* route = nullptr;
  RouteMeters* route_meters = nullptr;
  std::array<std::string_view, kParams> params{};  // what stood for each {name}, in order
  base::Ulid corr_id;
  runtime::Deadline deadline;
  const platform::Endpoint* peer = nullptr;
  bool is_secure = false;  // came over TLS
  BodyReader* body = nullptr;
  // What the capability stage found; services read it through their own types. Empty: anonymous.
  std::string tenant;
  std::string token;                           // the fingerprint of a genuine one
  std::uint64_t grant_max_bytes = UINT64_MAX;  // set by limit_body()
  bool grant_full = false;                     // the capability has the scope that lets it do more

  // The capability allows no larger body: whoever reads it is stopped there. Forbidden when the
  // body is known to be larger.
  base::Result<> limit_body(std::uint64_t max_bytes) noexcept {
    grant_max_bytes = std::min(grant_max_bytes, max_bytes);
    return body != nullptr ? body->allow_at_most(max_bytes) : base::Result<>();
  }

  // Whom it counts for, if a service in front has found that out; client_share.h.
  ClientShare share;

  // The same request to another service of the process: what its client said and whom it counts
  // for, nothing else of what was found out about it here.
  [[nodiscard]] Request handed_on() const {
    Request request;
    request.head = head;
    request.path = path;
    request.query = query;
    request.corr_id = corr_id;
    request.deadline = deadline;
    request.peer = peer;
    request.is_secure = is_secure;
    request.body = body;
    request.share = share;
    return request;
  }
};

}  // namespace ron::http
