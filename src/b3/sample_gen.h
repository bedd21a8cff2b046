// Generators for property tests.
#pragma once

#include <rapidcheck.h>

namespace ron::b3::samples {

// Uniform in [low, high) from the first case on: rapidcheck's own ranges start near `low` and grow.
template <class T>
rc::Gen<T> between(T low, T high) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high));
}

}  // namespace ron::b3::samples
