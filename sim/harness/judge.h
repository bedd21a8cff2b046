// Judge: whether an answer is one that a service may give to this request at this time, as far as
// that is the same for every service: the envelope, the status, the correlation id, and whether
// there was a reason to refuse under the settings of the time. A service's judge derives from this
// one and adds its own reasons, and what success looks like.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "sim/harness/refusals.h"
#include "sim/harness/subject.h"

namespace ron::sim {

// Nothing, or what is wrong.
using Wrong = std::optional<std::string>;

// The text between `"key":"` and the next quote.
std::string_view json_text(std::string_view json, std::string_view key);

// For one exchange.
class Judge {
 public:
  explicit Judge(const Exchange& exchange)
      : x_(exchange), base_(*exchange.request), answer_(*exchange.answer) {}
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;
  virtual ~Judge() = default;

  Judgement judge();

 protected:
  // Reasons that only this service has.
  [[nodiscard]] virtual bool has_own_reason(base::Code code) const = 0;
  // It was refused, with reason: notes what that means, and looks at what else there is to it.
  virtual Wrong judge_own_refusal(base::Code code) = 0;
  // Anything but a refusal or an answer about readiness.
  virtual Wrong judge_success() = 0;
  // It is what another server answered: whatever it says, it is no refusal of this service.
  [[nodiscard]] virtual bool is_passed_on() const { return false; }
  // It may say so without having been told to stop.
  [[nodiscard]] virtual bool may_be_unready() const { return false; }

  template <class Holds>
  [[nodiscard]] bool any(Holds holds) const {
    return x_.life->any(x_.begun, x_.ended, holds);
  }
  // It took at least as long as the settings allow.
  [[nodiscard]] bool took(Duration http::ServerSettings::* limit) const {
    return any([&](const Era& era) { return x_.ended - x_.begun >= era.settings->server.*limit; });
  }
  // What the settings say about the body.
  [[nodiscard]] static bool fits(const Request& request, const Era& era);
  // Whether it may do what it asked for, as far as rights go.
  [[nodiscard]] bool is_allowed() const;

  const Exchange& x_;
  const Request& base_;
  const Answer& answer_;

 private:
  [[nodiscard]] bool may_refuse(base::Code code, bool own_id) const;
  [[nodiscard]] bool may_be_busy(bool own_id) const;
  [[nodiscard]] bool may_refuse_body(base::Code code) const;
  Wrong judge_refusal(Judgement& out);
  Wrong judge_bodiless_refusal(Judgement& out);
  [[nodiscard]] Wrong judge_ready() const;
};

}  // namespace ron::sim
