// What a seed of svc-storage decides beforehand, besides what every service's does: the content
// that clients deal in, and the settings that are storage's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/object_id.h"
#include "sim/harness/plan.h"

namespace ron::sim {

// Content that clients store, ask for and delete. Shared by all of them, so that they meet.
struct Payload {
  std::string bytes;
  base::ObjectId id;
  std::string address;
  std::string gzip;  // the same bytes, encoded
};
Payload make_payload(std::string bytes);
// Random bytes, or (compressible) runs of the same byte.
std::string make_bytes(Dice& dice, std::size_t size, bool compressible);

struct StoragePlan : Plan {
  bool on_disk = false;           // else in memory, and each life begins with nothing
  std::vector<Payload> payloads;  // the last is the auditor's alone
};

StoragePlan make_plan(std::uint64_t seed);

}  // namespace ron::sim
