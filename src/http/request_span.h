// What a trace learns of a request that was answered.
#pragma once

#include "base/units.h"
#include "http/loop_context.h"
#include "http/request.h"
#include "http/response.h"

namespace ron::http {

namespace detail {
void record_wanted_span(LoopContext& loop, const Request& request, const Response& response,
                        base::Duration took);
}  // namespace detail

// Records a span that ends now, in the trace of the client's `traceparent` if that one is sampled,
// else in a new one. Nothing, after one load, unless spans are wanted. The request's head must
// still be there.
inline void record_span(LoopContext& loop, const Request& request, const Response& response,
                        base::Duration took) {
  if (loop.spans == nullptr || !loop.spans->enabled()) return;
  detail::record_wanted_span(loop, request, response, took);
}

}  // namespace ron::http
