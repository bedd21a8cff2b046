#include "services/edge/packs.h"

namespace ron::edge {

platform::Task<base::Result<>> Packs::open() { co_return base::Result<>(); }

void Packs::apply(const EdgeConfig&) {}

}  // namespace ron::edge
