// InProcess: a service of this process as an upstream. The request and its body are handed over as
// they are; the answer, too.
#pragma once

#include <string>

#include "services/gateway/upstream.h"
#include "services/kit/service.h"

namespace ron::gateway {

class InProcess final : public Upstream {
 public:
  // Null: that service is not a part of this process, and whoever asks is told so.
  InProcess(std::string service, std::size_t lane, kit::Service* target)
      : Upstream(std::move(service), lane), target_(target) {}

  platform::Task<http::Response> forward(Passage* passage) override;
  [[nodiscard]] bool is_usable() const override { return true; }
  [[nodiscard]] bool is_in_process() const noexcept override { return true; }
  [[nodiscard]] bool judges_origins() const noexcept override {
    return target_ != nullptr && target_->judges_origins();
  }

 private:
  kit::Service* const target_;
};

}  // namespace ron::gateway
