// Any text as a target: what decodes has exactly one reading.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/uri.h"

namespace {

using namespace ron::http;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_text(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    require(byte >= 0x20 && byte != 0x7f);
  }
}

void check_path(std::string_view raw, EncodedSlash slash) {
  UriScratch scratch;
  const auto path = decode_path(raw, scratch, slash);
  if (!path) return;
  check_text(*path);
  require(path->starts_with('/') && path->size() <= raw.size());
  require(path->find('\\') == std::string_view::npos);
  require(path->find("//") == std::string_view::npos);
  require(path->find("/../") == std::string_view::npos && !path->ends_with("/.."));
  require(path->find("/./") == std::string_view::npos && !path->ends_with("/."));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Target target = split_target(text);
  require(target.path.size() + target.query.size() <= size);
  check_path(target.path, EncodedSlash::Refuse);
  check_path(target.path, EncodedSlash::Allow);

  UriScratch scratch;
  QueryReader reader(target.query, scratch);
  std::size_t bytes = 0;
  while (const auto param = reader.next()) {
    if (!*param) break;
    check_text((*param)->name);
    check_text((*param)->value);
    bytes += (*param)->name.size() + (*param)->value.size();
  }
  require(bytes <= target.query.size());
  return 0;
}
