#include "services/kit/representation.h"

#include <cstring>
#include <utility>

#include "http/range.h"
#include "services/kit/handlers.h"

namespace ron::kit {

using base::Code;
using http::Response;

Representation::Representation(std::string entity_tag, std::string lines, base::Buffer content,
                               platform::SendArena& arena)
    : tag(std::move(entity_tag)), header_lines(std::move(lines)) {
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

std::size_t Representation::footprint() const noexcept {
  return sizeof(Representation) + bytes().size() + tag.capacity() + header_lines.capacity();
}

Response head_for(const http::Request& request, const http::Selection& selection,
                  std::uint64_t length) {
  using Kind = http::Selection::Kind;
  http::ContentRangeText text;
  Response response(200);
  switch (selection.kind) {
    case Kind::Whole:
      return response;
    case Kind::Part:
      response.status = 206;
      response.add("Content-Range",
                   http::print_content_range(
                       {selection.offset, selection.offset + selection.length - 1}, length, text));
      return response;
    case Kind::NotModified:
      response.status = 304;
      return response;
    case Kind::PreconditionFailed:
      return refuse(request, {Code::PreconditionFailed, "If-Match does not name this object"});
    case Kind::Malformed:
      return refuse(request, {Code::BadRange, "the Range header is not bytes=FIRST-LAST"});
    case Kind::Unsatisfiable:
      response = refuse(request,
                        base::Error(Code::RangeNotSatisfiable, "the range lies outside the object")
                            .with("length", std::to_string(length)));
      response.add("Content-Range", http::print_unsatisfied_range(length, text));
      return response;
  }
  return response;
}

bool describes_it(const http::Selection& selection) noexcept {
  return selection.selects() || selection.kind == http::Selection::Kind::NotModified;
}

Response answer(const http::Request& request, const RepresentationPtr& found) {
  return answer(request, found,
                http::select(*request.head, found->entity_tag(), found->bytes().size()));
}

Response answer(const http::Request& request, const RepresentationPtr& found,
                const http::Selection& selection) {
  Response response = head_for(request, selection, found->bytes().size());
  if (!describes_it(selection)) return response;
  response.prepared_lines = found->header_lines;
  response.owner = found;
  if (!selection.selects()) return response;
  const bool is_whole = selection.kind == http::Selection::Kind::Whole;
  response.body =
      http::SharedBody{.bytes = found->bytes().subspan(selection.offset, selection.length),
                       .memory = found->memory ? &found->memory : nullptr,
                       .framed = is_whole ? found->framed() : base::ByteView()};
  return response;
}

}  // namespace ron::kit
