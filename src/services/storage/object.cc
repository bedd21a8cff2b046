#include "services/storage/object.h"

#include <utility>

namespace ron::storage {

std::string object_header_lines(const base::ObjectId& id) {
  return "Content-Type: application/octet-stream\r\nETag: \"" + id.text() +
         "\"\r\nAccept-Ranges: bytes\r\n"
         "Cache-Control: public, max-age=31536000, immutable\r\nVary: Accept-Encoding\r\n";
}

Object::Object(const base::ObjectId& address, base::Buffer content, platform::SendArena& arena)
    : Representation(address.text(), object_header_lines(address), std::move(content), arena),
      id(address) {}

}  // namespace ron::storage
