// JobBase: what every job of a work queue has.
//
//   struct EchoJob : kit::JobBase<std::string> { std::string text; };
#pragma once

#include <cstddef>
#include <optional>

#include "base/result.h"
#include "runtime/deadline.h"
#include "runtime/oneshot.h"

namespace ron::kit {

// `Answer` is what the reply brings, `kLane` whose work it is.
template <class T, std::size_t Lane = 0>
struct JobBase {
  using Answer = T;
  static constexpr std::size_t kLane = Lane;
  runtime::Deadline deadline{};
  std::optional<runtime::OneshotSender<base::Result<T>>> reply{};
};

}  // namespace ron::kit
