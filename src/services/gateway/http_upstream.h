// HttpUpstream: a group of servers as an upstream. Requests are written anew, bodies stream through
// in both directions as fast as the slower side takes them, and answers are read strictly.
#pragma once

#include <memory>
#include <vector>

#include "http/upstream_group.h"
#include "services/gateway/upstream.h"

namespace ron::gateway {

class HttpUpstream final : public Upstream {
 public:
  HttpUpstream(std::size_t lane, std::unique_ptr<http::UpstreamGroup> group);

  platform::Task<http::Response> forward(Passage* passage) override;
  [[nodiscard]] bool is_usable() const override;
  [[nodiscard]] std::vector<http::UpstreamStatus> status() const;

  [[nodiscard]] http::UpstreamGroup& group() noexcept { return *group_; }

 private:
  std::unique_ptr<http::UpstreamGroup> group_;
};

}  // namespace ron::gateway
