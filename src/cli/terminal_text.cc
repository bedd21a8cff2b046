#include "cli/terminal_text.h"

#include "base/utf8.h"
#include "config/value.h"

namespace ron::cli {
namespace {

// Controls (U+0000 to U+001F, U+007F to U+009F), line and paragraph separators and whatever turns
// the direction of text (U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069).
bool is_fine(std::string_view sequence) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return at(0) >= 0x20 && at(0) != 0x7F;
  if (sequence.size() == 2) return at(0) != 0xC2 || at(1) > 0x9F;
  if (sequence.size() != 3 || at(0) != 0xE2) return true;
  if (at(1) == 0x80) return at(2) < 0x8E || (at(2) > 0x8F && at(2) < 0xA8) || at(2) > 0xAE;
  return at(1) != 0x81 || at(2) < 0xA6 || at(2) > 0xA9;
}

}  // namespace

std::string for_terminal(std::string_view text, std::size_t limit) {
  std::string out;
  std::size_t done = 0;
  while (done < text.size()) {
    const std::string_view rest = text.substr(done);
    const std::size_t length = base::utf8_length(rest);
    const std::string_view sequence = rest.substr(0, length == 0 ? 1 : length);
    // Not half of a sequence.
    if (done + sequence.size() > limit) return out + "...";
    if (length != 0 && is_fine(sequence)) {
      out += sequence;
    } else {
      out += config::printable(sequence);
    }
    done += sequence.size();
  }
  return out;
}

}  // namespace ron::cli
