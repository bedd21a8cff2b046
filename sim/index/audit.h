// IndexAuditor: one client that does everything right, in a world without faults or others. All
// that was acknowledged must be there, without gaps; names can be changed, and what the DHT or a
// peer knows is found.
#pragma once

#include <cstdint>
#include <string>

#include "sim/harness/talk.h"
#include "sim/index/request.h"

namespace ron::sim {

// Lives in the task that runs it.
class IndexAuditor {
 public:
  IndexAuditor(Talk* talk, const IndexRequestMaker* maker, IndexLedgers* ledgers);

  Task<void> run();
  [[nodiscard]] std::uint64_t checked() const noexcept { return checked_; }

 private:
  Task<void> check_name(std::size_t number);
  Task<void> check_address(std::size_t number);
  Task<std::string> ask(IndexAsk what, std::size_t about);
  void expect(bool holds, const std::string& what);

  Talk& talk_;
  Scene& scene_;
  const IndexRequestMaker& maker_;
  IndexLedgers& ledgers_;
  Dice dice_;
  std::uint64_t checked_ = 0;
};

}  // namespace ron::sim
