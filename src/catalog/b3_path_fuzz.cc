// Arbitrary text as the key of /resolve: what is accepted prints to the same key, and a name
// survives the way through a URL.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/encoding.h"
#include "catalog/name.h"

namespace {

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(ron::base::hex_digit(text[i + 1]) * 16 +
                             ron::base::hex_digit(text[i + 2]));
    i += 2;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace catalog = ron::catalog;
  const auto text = ron::base::as_text(std::as_bytes(std::span(data, size)));
  const auto key = catalog::parse_key(text);
  if (!key) return 0;
  const std::string printed = catalog::print(*key);
  if (catalog::parse_key(printed) != *key) std::abort();
  if (decoded(catalog::encode_in_path(printed)) != printed) std::abort();
  if (const auto* ref = std::get_if<catalog::NameRef>(&*key)) {
    if (printed != text) std::abort();
    if (catalog::parse_name(ref->name.text()) != ref->name) std::abort();
    if (!catalog::is_below(ref->name, ref->name.name_space())) std::abort();
  }
  return 0;
}
