#include "chain/note.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "auth/digest.h"
#include "base/encoding.h"
#include "base/utf8.h"

namespace ron::chain {
namespace {

using base::as_bytes;
using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kSignaturePrefix = "\u2014 ";
constexpr std::string_view kSeparator = "\n\n";
constexpr std::string_view kNewline = "\n";
constexpr std::array<std::byte, 1> kEd25519{std::byte{1}};
constexpr std::size_t kKeyIdBytes = 4;
constexpr std::size_t kKeyIdDigits = 2 * kKeyIdBytes;

// Unicode's White_Space beyond ASCII.
constexpr std::array<std::string_view, 19> kSpaces = {
    "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
    "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
    "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

// Every character is well-formed, and one that `is_fine` accepts.
template <class IsFine>
bool all_characters(std::string_view text, IsFine&& is_fine) noexcept {
  while (!text.empty()) {
    const std::size_t length = base::utf8_length(text);
    if (length == 0 || !is_fine(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20; }

std::uint32_t big_endian(base::ByteView bytes) {
  std::uint32_t number = 0;
  for (const std::byte b : bytes.first(kKeyIdBytes)) {
    number = (number << 8) | static_cast<std::uint32_t>(b);
  }
  return number;
}

std::array<std::byte, kKeyIdBytes> big_endian(std::uint32_t number) {
  std::array<std::byte, kKeyIdBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(number >> (8 * (bytes.size() - 1 - i)));
  }
  return bytes;
}

std::uint32_t key_id_of(std::string_view name, const auth::PublicKey& key) {
  const auto digest =
      auth::sha256({as_bytes(name), as_bytes(kNewline), kEd25519, base::ByteView(key.bytes)});
  if (!digest) throw std::bad_alloc();
  return big_endian(*digest);
}

// `— <name> <base64>`, without the newline.
Result<NoteSignature> parse_signature(std::string_view line) {
  if (line.size() >= kMaxSignatureLineBytes || !line.starts_with(kSignaturePrefix)) {
    return fail(Code::Malformed, "a line behind the note's text is not a signature");
  }
  line.remove_prefix(kSignaturePrefix.size());
  const std::size_t space = line.find(' ');
  const std::string_view name = line.substr(0, space);
  if (space == std::string_view::npos || !is_key_name(name)) {
    return fail(Code::Malformed, "a signature of the note has no name, or not the name of a key");
  }
  const auto bytes = base::from_base64_exact(line.substr(space + 1));
  if (!bytes || bytes->size() <= kKeyIdBytes) {
    return fail(Code::Malformed, "a signature of the note is not base64, or too short");
  }
  const base::ByteView signature = base::ByteView(*bytes).subspan(kKeyIdBytes);
  return NoteSignature{std::string(name), big_endian(*bytes), {signature.begin(), signature.end()}};
}

}  // namespace

bool is_key_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMaxKeyNameBytes &&
         all_characters(name, [](std::string_view character) {
           const char c = character.front();
           return !is_control(c) && c != ' ' && c != '+' &&
                  std::ranges::find(kSpaces, character) == kSpaces.end();
         });
}

bool is_note_text(std::string_view text) noexcept {
  return text.size() <= kMaxNoteTextBytes && text.ends_with('\n') &&
         all_characters(text, [](std::string_view character) {
           return !is_control(character.front()) || character == kNewline;
         });
}

Result<NoteVerifier> NoteVerifier::make(std::string name, const auth::PublicKey& key) {
  if (!is_key_name(name)) {
    return fail(Code::Malformed, "the name of a key is text without spaces and '+'");
  }
  auto verifying = auth::VerifyingKey::make(key);
  if (!verifying) return fail(std::move(verifying.error()));
  const std::uint32_t key_id = key_id_of(name, key);
  return NoteVerifier(std::move(name), key_id, std::move(*verifying));
}

Result<NoteVerifier> NoteVerifier::parse(std::string_view vkey) {
  const auto malformed = [](const char* why) { return fail(Code::Malformed, why); };
  const std::size_t name_end = vkey.find('+');
  if (name_end == std::string_view::npos) return malformed("a verifier key is name+id+key");
  const std::string_view name = vkey.substr(0, name_end);
  const std::string_view rest = vkey.substr(name_end + 1);
  if (rest.size() <= kKeyIdDigits || rest[kKeyIdDigits] != '+') {
    return malformed("a verifier key is name+id+key, and its id has 8 digits");
  }
  const auto bytes = base::from_base64_exact(rest.substr(kKeyIdDigits + 1));
  if (!bytes || bytes->size() != kEd25519.size() + auth::PublicKey::kBytes ||
      bytes->front() != kEd25519.front()) {
    return malformed("the verifier key is not one of Ed25519");
  }
  auth::PublicKey key;
  std::ranges::copy(std::span(*bytes).subspan(kEd25519.size()), key.bytes.begin());
  auto verifier = make(std::string(name), key);
  if (verifier && verifier->text() != vkey) {
    return malformed("the verifier key has the id of another key");
  }
  return verifier;
}

std::string NoteVerifier::text() const {
  std::array<std::byte, kEd25519.size() + auth::PublicKey::kBytes> key{};
  key.front() = kEd25519.front();
  std::ranges::copy(public_key().bytes, key.begin() + kEd25519.size());
  return name_ + "+" + base::to_hex(big_endian(key_id_)) + "+" + base::to_base64(key);
}

bool NoteVerifier::verify(std::string_view text, base::ByteView signature) const noexcept {
  auth::Signature bytes;
  if (signature.size() != bytes.size()) return false;
  std::ranges::copy(signature, bytes.begin());
  return key_.verify(as_bytes(text), bytes);
}

Result<NoteSigner> NoteSigner::make(std::string name, auth::SigningKey key) {
  auto verifier = NoteVerifier::make(std::move(name), key.public_key());
  if (!verifier) return fail(std::move(verifier.error()));
  return NoteSigner(std::move(*verifier), std::move(key));
}

Result<std::string> NoteSigner::sign(std::string_view text) const {
  if (!is_note_text(text)) {
    return fail(Code::Malformed,
                "a note is text that ends in a newline, without other control "
                "characters and not too long");
  }
  const auto signature = key_.sign(as_bytes(text));
  if (!signature) return fail(signature.error());
  const NoteSignature made{
      verifier_.name(), verifier_.key_id(), {signature->begin(), signature->end()}};
  return print_note({std::string(text), {made}});
}

Result<Note> parse_note(std::string_view note) {
  if (note.size() > kMaxNoteBytes) return fail(Code::Malformed, "the note is too long");
  // The last blank line counts: the text may have some of its own.
  const std::size_t separator = note.rfind(kSeparator);
  if (separator == std::string_view::npos || !note.ends_with('\n')) {
    return fail(Code::Malformed, "the note has no blank line, or does not end in a newline");
  }
  const std::string_view text = note.substr(0, separator + 1);
  if (!is_note_text(text)) {
    return fail(Code::Malformed,
                "the note's text is too long, not UTF-8 or has control characters");
  }
  Note parsed{std::string(text), {}};
  std::string_view rest = note.substr(separator + kSeparator.size());
  if (rest.empty()) return fail(Code::Malformed, "nobody has signed the note");
  while (!rest.empty()) {
    if (parsed.signatures.size() == kMaxNoteSignatures) {
      return fail(Code::Malformed, "the note has too many signatures");
    }
    const std::size_t end = rest.find('\n');
    auto signature = parse_signature(rest.substr(0, end));
    if (!signature) return fail(std::move(signature.error()));
    parsed.signatures.push_back(std::move(*signature));
    rest.remove_prefix(end + 1);
  }
  return parsed;
}

std::string print_note(const Note& note) {
  std::string printed = note.text + "\n";
  for (const NoteSignature& signature : note.signatures) {
    std::string bytes(base::as_text(big_endian(signature.key_id)));
    bytes.append(base::as_text(signature.signature));
    printed.append(kSignaturePrefix).append(signature.name).append(" ");
    printed.append(base::to_base64(as_bytes(bytes))).append(kNewline);
  }
  return printed;
}

Result<std::string> open_note(std::string_view note, std::span<const NoteVerifier> known) {
  auto parsed = parse_note(note);
  if (!parsed) return fail(std::move(parsed.error()));
  bool is_signed = false;
  for (const NoteSignature& signature : parsed->signatures) {
    for (const NoteVerifier& verifier : known) {
      if (verifier.name() != signature.name || verifier.key_id() != signature.key_id) continue;
      if (!verifier.verify(parsed->text, signature.signature)) {
        return fail(Code::InvalidSig,
                    "the note's signature by " + signature.name + " does not verify");
      }
      is_signed = true;
    }
  }
  if (!is_signed) return fail(Code::InvalidSig, "no known key has signed the note");
  return std::move(parsed->text);
}

}  // namespace ron::chain
