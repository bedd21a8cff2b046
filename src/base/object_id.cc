#include "base/object_id.h"

#include "base/encoding.h"

namespace ron::base {

Result<ObjectId> ObjectId::parse(std::string_view text) {
  ObjectId id;
  if (!text.starts_with("b3:") || !from_hex(text.substr(3), id.digest_)) {
    return fail(Code::BadAddress, "an object address is b3: followed by 64 hex digits");
  }
  return id;
}

std::string ObjectId::text() const { return "b3:" + to_hex(digest_); }

}  // namespace ron::base
