#include "services/gateway/in_process.h"

#include <utility>
#include <variant>

#include "services/gateway/forward_head.h"
#include "services/gateway/turn_body.h"
#include "services/kit/handlers.h"

namespace ron::gateway {

using platform::Task;

namespace {

constexpr int kTimeout = 504;

}  // namespace

Task<http::Response> InProcess::forward(Passage* passage) {
  if (target_ == nullptr) {
    co_return kit::refuse(
        *passage->request,
        base::Error(base::Code::NotFound, "svc-" + name() + " is not a part of this process")
            .with("service", "svc-" + name()));
  }
  http::Request* const request = passage->request;
  request->is_secure = scheme_of(*request, *passage->client) == "https";
  request->deadline = request->deadline.sooner(passage->deadline);
  http::Response response = co_await target_->call(request);
  passage->is_event_stream = std::holds_alternative<http::EventBody>(response.body);
  // What its client broke off says nothing about the service.
  if (response.status == kTimeout && request->deadline.passed()) co_return response;
  hold_turn(response, std::move(passage->turn));
  co_return response;
}

}  // namespace ron::gateway
