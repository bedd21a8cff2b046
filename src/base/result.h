// Result<T>: a value or an Error. The only way a request path reports failure.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "base/error.h"

namespace ron::base {

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Code code, std::string message) {
  return std::unexpected<Error>(Error(code, std::move(message)));
}
inline std::unexpected<Error> fail(Error error) { return std::unexpected<Error>(std::move(error)); }

}  // namespace ron::base
