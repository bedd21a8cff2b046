// StorageJudge: whether an answer is one that svc-storage may give to this request at this time.
//
// Every status, code, header and byte is held against the request, the settings of the time and the
// content that was meant. Whether an object may be there or not is the History's to say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/storage/config.h"
#include "sim/harness/judge.h"
#include "sim/storage/history.h"
#include "sim/storage/request.h"

namespace ron::sim {

// What a judge has to know besides the exchange.
struct Facts {
  const std::vector<Payload>& payloads;
  const History& history;
  Duration moment{};  // the server may see that much later that a read is over
};

class StorageJudge final : public Judge {
 public:
  StorageJudge(const Exchange& exchange, const Facts& facts)
      : Judge(exchange),
        facts_(facts),
        request_(static_cast<const ObjectRequest&>(*exchange.request)),
        payload_(facts.payloads[request_.object]) {}

  // What the answer says about the object, once it was judged.
  [[nodiscard]] History::Result result() const noexcept { return result_; }

 private:
  [[nodiscard]] bool has_own_reason(base::Code code) const override;
  Wrong judge_own_refusal(base::Code code) override;
  Wrong judge_success() override;

  [[nodiscard]] bool has_upload_reason(base::Code code) const;
  [[nodiscard]] bool memory_may_be_full() const;
  [[nodiscard]] History::Result meaning(base::Code code) const;
  Wrong judge_stored();
  Wrong judge_read();
  Wrong judge_upload();
  [[nodiscard]] Wrong judge_begun() const;
  [[nodiscard]] Wrong judge_part() const;
  [[nodiscard]] Wrong judge_shown() const;
  Wrong judge_committed();

  const Facts& facts_;
  const ObjectRequest& request_;
  const Payload& payload_;
  History::Result result_ = History::Result::Nothing;
};

// The most that a service in memory can have held at one time since then: as many copies of each
// payload as the history allows, with what keeping one costs.
std::uint64_t most_bytes(const std::vector<Payload>& payloads, const History& history,
                         unsigned life, TimePoint since);

}  // namespace ron::sim
