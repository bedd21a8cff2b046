// Arbitrary text as a note and as a verifier key: what is accepted prints to the same text, and
// nothing is signed by a key that never signed.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "chain/note.h"

namespace {

using namespace ron::chain;

void require(bool holds) {
  if (!holds) std::abort();
}

const NoteSigner& signer() {
  static const NoteSigner made = [] {
    const std::vector<std::byte> seed(32, std::byte{5});
    return NoteSigner::make("fuzz", ron::auth::SigningKey::from_seed(seed).value()).value();
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = ron::base::as_text(std::as_bytes(std::span(data, size)));
  const std::span<const NoteVerifier> known(&signer().verifier(), 1);
  if (const auto note = parse_note(text)) {
    require(print_note(*note) == text);
    require(is_note_text(note->text));
    require(!note->signatures.empty() && note->signatures.size() <= kMaxNoteSignatures);
    require(!open_note(text, known));
  }
  if (const auto verifier = NoteVerifier::parse(text)) require(verifier->text() == text);
  if (const auto made = signer().sign(text)) require(open_note(*made, known).value() == text);
  return 0;
}
