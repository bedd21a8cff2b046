#include "services/storage/object.h"

#include <cstring>
#include <utility>

namespace ron::storage {

Object::Object(const base::ObjectId& address, base::Buffer content, platform::SendArena& arena)
    : id(address), etag("\"" + address.text() + "\"") {
  if (content.size() >= kArenaBytes) memory = arena.allocate(content.size());
  if (memory) {
    std::memcpy(memory.writable().data(), content.data(), content.size());
  } else {
    heap_ = std::move(content);
  }
  header_lines = "Content-Type: application/octet-stream\r\nETag: " + etag +
                 "\r\nAccept-Ranges: bytes\r\n"
                 "Cache-Control: public, max-age=31536000, immutable\r\nVary: Accept-Encoding\r\n";
}

std::size_t Object::footprint() const noexcept {
  return sizeof(Object) + bytes().size() + etag.capacity() + header_lines.capacity();
}

}  // namespace ron::storage
