#include "services/storage/object.h"

#include <utility>

namespace ron::storage {

Object::Object(const base::ObjectId& address, base::Buffer content)
    : id(address), bytes(std::move(content)), etag("\"" + address.text() + "\"") {
  header_lines = "Content-Type: application/octet-stream\r\nETag: " + etag +
                 "\r\nAccept-Ranges: bytes\r\n"
                 "Cache-Control: public, max-age=31536000, immutable\r\nVary: Accept-Encoding\r\n";
}

std::size_t Object::footprint() const noexcept {
  return sizeof(Object) + bytes.capacity() + etag.capacity() + header_lines.capacity();
}

}  // namespace ron::storage
