// The beginning of a log.
#pragma once

#include <cstdint>
#include <string>

#include "chain/signers.h"
#include "platform/random.h"

namespace ron::chain {

// The entry of version 0 as bytes: who may approve the next. Nobody approves it: it is what is
// trusted, and its hash is the log's id.
std::string genesis_entry(const SignerSet& signers, std::int64_t now_ms, platform::Random& random);

}  // namespace ron::chain
