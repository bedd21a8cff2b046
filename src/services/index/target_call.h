// One request to a target and the head of its answer, judged.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"
#include "http/upstream_address.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::index {

struct TargetCall {
  http::Method method = http::Method::Get;
  std::string path{};
  std::string accept{};        // empty: not sent
  std::string content_type{};  // of the body
  std::string body{};
};

// The answer, whatever its status. Errors as http::Client::send. Cancel-safe: aborting closes the
// connection.
platform::Task<base::Result<http::ClientResponse>> call(http::Client* client,
                                                        const http::UpstreamAddress* to,
                                                        TargetCall what,
                                                        runtime::Deadline deadline);

// UpstreamFail unless it is 200 with a body of this media type, not encoded. Redirects are not
// followed: whom to ask is configured, and is not for those who are asked to say.
base::Result<void> check_answer(const http::ClientResponse& response, std::string_view media_type);

// NotAllowed for a status of 4xx, UpstreamFail for others from 300 on. Reads the rest of the body,
// which is short, so that the connection can be used again. Cancel-safe.
platform::Task<base::Result<void>> check_taken(http::ClientResponse response);

}  // namespace ron::index
