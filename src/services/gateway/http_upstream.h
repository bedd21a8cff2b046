// HttpUpstream: a group of servers as an upstream. Requests are written anew, bodies stream through
// in both directions as fast as the slower side takes them, and answers are read strictly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/upstream_group.h"
#include "runtime/lock.h"
#include "services/gateway/upstream.h"
#include "services/gateway/wires.h"

namespace ron::gateway {

class HttpUpstream final : public Upstream {
 public:
  HttpUpstream(std::size_t lane, std::unique_ptr<http::UpstreamGroup> group);

  platform::Task<http::Response> forward(Passage* passage) override;
  [[nodiscard]] bool is_usable() const override;
  [[nodiscard]] std::vector<http::UpstreamStatus> status() const;
  // Why a request last came to nothing; clients are not told where its upstream is.
  [[nodiscard]] std::string last_failure() const;

  [[nodiscard]] http::UpstreamGroup& group() noexcept { return *group_; }

 private:
  // `is_clients`: it ended by what the client did or did not do in time.
  http::Response refuse(const http::Request& request, const base::Error& error, bool is_clients);

  std::unique_ptr<http::UpstreamGroup> group_;
  mutable runtime::Lock lock_{kFailureLock};
  std::string last_failure_;  // guarded by lock_
};

}  // namespace ron::gateway
