#include "services/edge/site_check.h"

#include <chrono>
#include <utility>

#include "runtime/waiting.h"

namespace ron::edge {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr base::Duration kStatTime = std::chrono::seconds(5);
// A queue that is full is asked again, which is what checks are for.
constexpr std::size_t kTries = 5;
constexpr base::Duration kBusyRest = std::chrono::seconds(1);

// False when the origin does not have the object.
Task<Result<bool>> is_stored(Origin* origin, base::ObjectId address) {
  for (std::size_t tries = 1;; ++tries) {
    const auto length = co_await origin->stat(address, runtime::Deadline::in(kStatTime));
    if (length) co_return true;
    if (length.error().code == Code::NotFound) co_return false;
    if (length.error().code != Code::Busy || tries == kTries) co_return fail(length.error());
    co_await runtime::sleep_for(kBusyRest);
  }
}

}  // namespace

Task<Result<MissingFiles>> check_files(Origin* origin, SiteTreePtr tree) {
  const std::size_t at_once = origin->has_parts() ? kCheckedAtOnceHere : kCheckedAtOnceThere;
  MissingFiles missing;
  for (SiteTree::FileIndex file = 0; file < tree->files(); ++file) {
    if (file > 0 && file % at_once == 0) co_await runtime::sleep_for(kCheckRest);
    const auto stored = co_await is_stored(origin, tree->file(file).address);
    if (!stored) co_return fail(stored.error());
    if (!*stored && missing.count++ == 0) missing.first = tree->path_of(file);
  }
  co_return missing;
}

}  // namespace ron::edge
