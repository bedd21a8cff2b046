// What a client would rather have: weights of RFC 9110 §12.4.2, and Accept-Encoding. Pure
// functions; nothing allocates.
#pragma once

#include <string_view>

#include "http/codecs.h"
#include "http/fields.h"

namespace ron::http {

// `q=0.5` among parameters, in thousandths: 1000 without one, 0 if it is no weight.
int weight_in(std::string_view parameters) noexcept;

// How much a client wants a representation in this coding, in thousandths; 0: not at all.
//
// Without Accept-Encoding only Identity is wanted: RFC 9110 §12.5.3 would allow any, but who says
// nothing often cannot decode. Identity is always fine unless the client refuses it by name or by
// `*;q=0`.
int coding_weight(const FieldTable& fields, Coding coding) noexcept;

}  // namespace ron::http
