#include "services/edge/sites.h"

namespace ron::edge {

platform::Task<base::Result<>> Sites::open() { co_return base::Result<>(); }

void Sites::apply(const EdgeConfig&) {}

}  // namespace ron::edge
