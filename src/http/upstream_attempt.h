// UpstreamAttempt: one request that is under way to one member of an upstream group.
//
// Exists from the choice of the member until the answer's body has ended, which is how long the
// member counts it as in flight. The outcome is noted once. One that goes without an outcome was
// abandoned: the client left or wanted its answer sooner than the member had to give it, or the
// request's body failed. That is neither good nor bad for the member.
//
// Move-only; one executor at a time. The group outlives it.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "platform/executor.h"
#include "runtime/breaker.h"

namespace ron::http {

class UpstreamMember;

class [[nodiscard]] UpstreamAttempt {
 public:
  UpstreamAttempt() = default;
  UpstreamAttempt(UpstreamMember& member, runtime::Breaker::Permit permit) noexcept;
  UpstreamAttempt(UpstreamAttempt&& other) noexcept
      : member_(std::exchange(other.member_, nullptr)),
        permit_(std::move(other.permit_)),
        is_under_way_(std::exchange(other.is_under_way_, false)),
        is_decided_(other.is_decided_),
        is_hurried_(other.is_hurried_) {}
  UpstreamAttempt& operator=(UpstreamAttempt&& other) noexcept {
    std::swap(member_, other.member_);
    std::swap(permit_, other.permit_);
    std::swap(is_under_way_, other.is_under_way_);
    std::swap(is_decided_, other.is_decided_);
    std::swap(is_hurried_, other.is_hurried_);
    return *this;
  }
  ~UpstreamAttempt() { end(); }

  // Null: nobody's.
  [[nodiscard]] UpstreamMember* member() const noexcept { return member_; }

  // The caller wants its answer sooner than the member has to give it: a 504 is then no failure.
  void hurry() noexcept { is_hurried_ = true; }
  // The breaker that is half open waits for what comes of it.
  [[nodiscard]] bool has_place() const noexcept { return permit_.has_place(); }
  // From now on it does not: the request waits for its own body.
  void give_place_back() noexcept { permit_.give_place_back(); }

  // The answer's head is there. 502, 503 and 504 count as failures, their body still comes.
  void answered(int status, platform::TimePoint now) noexcept;
  // The whole answer was received.
  void completed(platform::TimePoint now) noexcept;
  // No answer came, or its body broke off.
  void failed(platform::TimePoint now) noexcept;
  // It is not under way any more.
  void end() noexcept;

 private:
  UpstreamMember* member_ = nullptr;
  runtime::Breaker::Permit permit_;
  bool is_under_way_ = false;
  bool is_decided_ = false;  // its outcome was noted
  bool is_hurried_ = false;
};

}  // namespace ron::http
