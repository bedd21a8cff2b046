#include "services/edge/parts.h"

#include <string_view>

namespace ron::edge {

Rejects::Rejects(runtime::Meters& meters) {
  for (std::size_t i = 0; i < by_reason_.size(); ++i) {
    by_reason_[i] = &meters.counter(metrics::kRejects, {metrics::kRejectReasons[i]});
  }
}

}  // namespace ron::edge
