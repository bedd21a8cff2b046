#include "services/storage/object.h"

#include <cstring>
#include <utility>

namespace ron::storage {

std::string object_header_lines(const base::ObjectId& id) {
  return "Content-Type: application/octet-stream\r\nETag: \"" + id.text() +
         "\"\r\nAccept-Ranges: bytes\r\n"
         "Cache-Control: public, max-age=31536000, immutable\r\nVary: Accept-Encoding\r\n";
}

Object::Object(const base::ObjectId& address, base::Buffer content, platform::SendArena& arena)
    : id(address), etag("\"" + address.text() + "\""), header_lines(object_header_lines(address)) {
  if (content.size() >= kArenaBytes)
    memory = arena.allocate(header_lines.size() + 2 + content.size());
  if (!memory) {
    heap_ = std::move(content);
    return;
  }
  std::byte* to = memory.writable().data();
  for (const base::ByteView part :
       {base::as_bytes(header_lines), base::as_bytes("\r\n"), content.view()}) {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
}

std::size_t Object::footprint() const noexcept {
  return sizeof(Object) + bytes().size() + etag.capacity() + header_lines.capacity();
}

}  // namespace ron::storage
