// Documents that are too large to be made on a core.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/value.h"
#include "http/request.h"
#include "http/response.h"
#include "platform/blocking.h"
#include "platform/task.h"
#include "services/registry/views.h"

namespace ron::registry {

// May run on any thread, and after whoever asked has gone: it owns what it needs.
using MakeValue = std::function<base::Value()>;

// The value as JSON or CBOR. Tree and text are made in the blocking pool when they are of more than
// bounds::kInlineBytes, and here otherwise. Busy. Cancel-safe.
platform::Task<base::Result<std::string>> render(platform::BlockingPool* pool, bool is_cbor,
                                                 std::size_t bytes, MakeValue make);
// The same as an answer, by the request's Accept. Cancel-safe.
platform::Task<http::Response> rendered(platform::BlockingPool* pool, const http::Request* request,
                                        int status, std::size_t bytes, MakeValue make);

// All a state says.
base::Value state_value(const chain::State& state);
// The same in pieces, each made when the one before was taken: for states that are large.
std::unique_ptr<http::BodySource> state_source(StatePtr state, bool is_cbor);

}  // namespace ron::registry
