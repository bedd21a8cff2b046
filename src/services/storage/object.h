// Object: verified bytes and everything needed to send them. Immutable; shared by whoever sends it.
#pragma once

#include <memory>
#include <string>

#include "base/buffer.h"
#include "base/object_id.h"

namespace ron::storage {

struct Object {
  // `bytes` must have been checked against `id`.
  Object(const base::ObjectId& id, base::Buffer bytes);

  base::ObjectId id;
  base::Buffer bytes;
  std::string etag;  // "b3:<hex>" with its quotes
  std::string
      header_lines;  // ETag, Accept-Ranges, Cache-Control, Vary, Content-Type; ready to send

  // What it costs in memory.
  [[nodiscard]] std::size_t footprint() const noexcept;
};

using ObjectPtr = std::shared_ptr<const Object>;

}  // namespace ron::storage
