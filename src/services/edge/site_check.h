// Whether the files of a site are there: asks its origin for each, without reading any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "platform/task.h"
#include "services/edge/origin.h"
#include "services/edge/site_tree.h"

namespace ron::edge {

// The files of a tree that its origin does not have.
struct MissingFiles {
  std::uint64_t count = 0;
  std::string first{};  // path of the first in order; empty when there is none
  friend bool operator==(const MissingFiles&, const MissingFiles&) = default;
};

// How many files are asked for between two rests. Another machine has other clients and a limit of
// requests; the storage of this process has neither.
inline constexpr std::size_t kCheckedAtOnceHere = 64;
inline constexpr std::size_t kCheckedAtOnceThere = 8;
inline constexpr base::Duration kCheckRest = std::chrono::milliseconds(50);

// An error when the origin cannot tell of one of them: nothing is known of the tree then. The
// origin outlives it. Cancel-safe.
platform::Task<base::Result<MissingFiles>> check_files(Origin* origin, SiteTreePtr tree);

}  // namespace ron::edge
