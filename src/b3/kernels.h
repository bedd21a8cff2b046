// Door to the upstream kernels, for .cc files of this folder only: blake3_impl.h puts macros and
// short names (IV, ROOT, INLINE) into the global namespace and does not declare C linkage itself.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Included first, so that C++ headers are not pulled into the extern "C" block below.
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

extern "C" {
#include <blake3_impl.h>
}
