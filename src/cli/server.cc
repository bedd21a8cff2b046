#include "cli/server.h"

#include <utility>

namespace ron::cli {

using base::Result;
using platform::Task;

// An address is not asked for: it may be one that this machine's name service does not like.
Task<Result<void>> Server::find() {
  const bool is_unix = url_.scheme == ServerUrl::Scheme::Unix;
  const auto given = platform::Endpoint::parse(is_unix ? url_.text() : authority_);
  if (given) endpoints_ = {*given};
  const auto turn = co_await finding_.acquire({});
  if (!endpoints_.empty()) co_return Result<void>();
  auto found = co_await resolver_.resolve(url_.host, url_.port);
  // A host that is not found must not be taken for an object that is not.
  if (!found) co_return base::fail(base::Code::UpstreamFail, std::move(found.error().message));
  endpoints_ = std::move(*found);
  co_return Result<void>();
}

Task<Result<http::ClientResponse>> Server::send(http::ClientRequest request,
                                                runtime::Deadline deadline) {
  if (endpoints_.empty()) {
    const Result<void> found = co_await find();
    if (!found) co_return base::fail(found.error());
  }
  request.host = authority_;
  if (url_.scheme == ServerUrl::Scheme::Https) request.tls_host = url_.host;
  for (std::size_t tried = 1;; ++tried) {
    const std::size_t used = current_;
    request.endpoint = endpoints_[used];
    auto response = co_await client_.send(request, deadline);
    answered_ = answered_ || response.has_value();
    if (answered_ || tried >= endpoints_.size()) co_return std::move(response);
    // Unless another request has moved on meanwhile.
    if (current_ == used) current_ = (used + 1) % endpoints_.size();
  }
}

}  // namespace ron::cli
