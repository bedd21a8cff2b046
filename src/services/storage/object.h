// Object: the verified bytes of one address and everything needed to send them.
#pragma once

#include <memory>
#include <string>

#include "base/buffer.h"
#include "base/object_id.h"
#include "services/kit/representation.h"

namespace ron::storage {

// ETag, Accept-Ranges, Cache-Control, Vary and Content-Type of an object, ready to send.
std::string object_header_lines(const base::ObjectId& id);

class Object : public kit::Representation {
 public:
  // `bytes` must have been checked against `id`.
  Object(const base::ObjectId& id, base::Buffer bytes, platform::SendArena& arena);

  base::ObjectId id;
};

using ObjectPtr = std::shared_ptr<const Object>;

}  // namespace ron::storage
