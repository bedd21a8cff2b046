// What a change would make of HEAD's state, for those who have to decide.
#pragma once

#include "base/value.h"
#include "chain/change.h"
#include "chain/state.h"

namespace ron::registry {

// A list of `{"what","before","after"}`: a descriptor by its type/id, a signer by `signer/ID`, the
// threshold. Null: it is not there. A change that does not fit HEAD any more has none.
base::Value difference(const chain::State& state, const chain::Payload& payload);

}  // namespace ron::registry
