#include "services/edge/assets.h"

namespace ron::edge {

platform::Task<base::Result<>> Assets::open() { co_return base::Result<>(); }

void Assets::apply(const EdgeConfig&) {}

}  // namespace ron::edge
