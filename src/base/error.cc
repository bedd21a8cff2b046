#include "base/error.h"

#include <array>

namespace ron::base {
namespace {

constexpr std::array kCodes = {
#define RON_X(name, status, retry, meaning) CodeInfo{Code::name, #name, status, retry, meaning},
    RON_ERROR_CODES(RON_X)
#undef RON_X
};

}  // namespace

std::span<const CodeInfo> all_codes() noexcept { return kCodes; }

const CodeInfo& info(Code code) noexcept { return kCodes[static_cast<std::size_t>(code)]; }

}  // namespace ron::base
