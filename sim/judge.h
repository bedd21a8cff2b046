// Judge: whether an answer is one that the service may give to this request at this time.
//
// Every status, code, header and byte is held against the request, the settings of the time and the
// content that was meant. Whether an object may be there or not is the History's to say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sim/history.h"
#include "sim/http_client.h"
#include "sim/plan.h"
#include "sim/request.h"
#include "sim/timeline.h"

namespace ron::sim {

// A request and its answer, with everything about them that matters.
struct Exchange {
  const Request* request = nullptr;
  const Payload* payload = nullptr;
  const Answer* answer = nullptr;
  const Life* life = nullptr;
  TimePoint begun{};
  TimePoint ended{};
  bool first_on_connection = false;
  bool sent_whole = true;
  std::uint64_t heavy_requests = 0;  // that may have passed through admission in this life
  std::uint64_t most_bytes = 0;      // that the service can have held meanwhile
};

struct Judgement {
  std::string outcome;  // `201`, `429 Busy`
  History::Result result = History::Result::Nothing;
  std::optional<std::string> wrong;
};

Judgement judge(const Exchange& exchange);

// The most that a service in memory can have held at one time since then: as many copies of each
// payload as the history allows, with what keeping one costs.
std::uint64_t most_bytes(const std::vector<Payload>& payloads, const History& history,
                         unsigned life, TimePoint since);

}  // namespace ron::sim
