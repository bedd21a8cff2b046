#include "http/upstream_attempt.h"

#include "http/upstream_member.h"

namespace ron::http {
namespace {

constexpr int kGatewayTimeout = 504;

// The upstream says of itself that it is not there.
bool is_unavailable(int status) noexcept { return status >= 502 && status <= 504; }

}  // namespace

UpstreamAttempt::UpstreamAttempt(UpstreamMember& member, runtime::Breaker::Permit permit) noexcept
    : member_(&member), permit_(std::move(permit)), is_under_way_(true) {
  member.request_began();
}

void UpstreamAttempt::answered(int status, platform::TimePoint now) noexcept {
  if (status == kGatewayTimeout && is_hurried_) {
    is_decided_ = true;
    permit_ = {};
    member_->meters().abandoned.add();
  } else if (is_unavailable(status)) {
    is_decided_ = true;
    permit_.failed(now);
    member_->note_failure(now);
    member_->meters().unavailable.add();
  } else if (permit_.is_probe()) {
    // The breaker refuses others meanwhile: it must not wait for a client that reads slowly.
    permit_.succeeded(now);
  }
}

void UpstreamAttempt::completed(platform::TimePoint now) noexcept {
  if (!is_under_way_) return;
  if (!std::exchange(is_decided_, true)) {
    permit_.succeeded(now);
    member_->note_success();
    member_->meters().answered.add();
  }
  end();
}

void UpstreamAttempt::failed(platform::TimePoint now) noexcept {
  if (!is_under_way_) return;
  if (!std::exchange(is_decided_, true)) {
    permit_.failed(now);
    member_->note_failure(now);
    member_->meters().failed.add();
  }
  end();
}

void UpstreamAttempt::end() noexcept {
  if (!std::exchange(is_under_way_, false)) return;
  if (!is_decided_) member_->meters().abandoned.add();
  permit_ = {};
  member_->request_ended();
}

}  // namespace ron::http
