// Which service of a process may ask which other, without a socket in between.
#pragma once

#include <memory>
#include <vector>

#include "services/kit/service.h"

namespace ron::app {

using Services = std::vector<std::unique_ptr<kit::Service>>;

// Before they start. Whoever is asked comes before those who ask, and outlives them.
void introduce(const Services& services);

}  // namespace ron::app
