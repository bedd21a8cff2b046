// Audit: one client of svc-storage that does everything right, in a world without faults or other
// clients. So nothing may be refused to it, everything acknowledged must be there, and a new object
// can be stored, read and removed: a permit, a turn or a wake-up that was lost on the way shows
// here.
#pragma once

#include <cstdint>
#include <string>

#include "sim/harness/talk.h"
#include "sim/storage/plan.h"
#include "sim/storage/request.h"

namespace ron::sim {

// Lives in the task that runs it.
class Auditor {
 public:
  Auditor(Talk* talk, const RequestMaker* maker, const StoragePlan* plan);

  Task<void> run();

 private:
  Task<bool> read_everything();
  Task<void> store_and_remove();
  Task<void> store_in_parts();
  void check_books();
  Task<std::string> ask(RequestPtr request);
  Task<std::string> ask(Kind kind, std::size_t object);
  [[nodiscard]] Duration pause() const;
  void expect(std::string outcome, std::string wanted, std::string what);

  Talk& talk_;
  Scene& scene_;
  const RequestMaker& maker_;
  const StoragePlan& plan_;
  Dice dice_;
  std::size_t present_ = 0;
  std::uint64_t present_bytes_ = 0;
};

}  // namespace ron::sim
