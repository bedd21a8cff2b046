// ObjectCache: the memory tier over volumes. Verified objects under their addresses.
#pragma once

#include <utility>

#include "base/object_id.h"
#include "services/kit/fifo_cache.h"
#include "services/storage/object.h"
#include "services/storage/wires.h"

namespace ron::storage {

class ObjectCache : public kit::FifoCache<base::ObjectId, Object, base::ObjectIdHash> {
 public:
  explicit ObjectCache(std::uint64_t capacity_bytes) : FifoCache(kObjectsLock, capacity_bytes) {}

  // The ticket was taken before the object was looked up on a volume.
  bool insert(ObjectPtr object, Ticket ticket) {
    const base::ObjectId id = object->id;
    return FifoCache::insert(id, std::move(object), ticket);
  }
};

}  // namespace ron::storage
