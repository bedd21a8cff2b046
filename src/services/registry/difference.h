// What a change would make of HEAD's state, for those who have to decide.
#pragma once

#include <cstddef>

#include "base/value.h"
#include "chain/change.h"
#include "chain/state.h"
#include "services/registry/list_bounds.h"

namespace ron::registry {

// A list of `{"what","before","after"}`: a descriptor by its type/id, a signer by `signer/ID`, the
// threshold. Null: it is not there. A change that does not fit HEAD any more has none.
//
// Once the values are more than `most_bytes`, the rest says how large they are instead, as
// `{"what","before_bytes","after_bytes"}`.
base::Value difference(const chain::State& state, const chain::Payload& payload,
                       std::size_t most_bytes = bounds::kDifferenceBytes);

}  // namespace ron::registry
