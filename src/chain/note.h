// Signed notes (C2SP signed-note): a text, a blank line, and signatures of it.
//
//   text, which ends in a newline
//
//   — example.com/log Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9…
//
// A signature is the base64 of four bytes of key id and the signature itself. Keys are known by
// name and id; signatures of unknown keys are ignored, so that logs may change keys and witnesses
// may sign as well. Ed25519 only. Pure values, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/ed25519.h"
#include "base/result.h"
#include "base/units.h"

namespace ron::chain {

inline constexpr std::size_t kMaxNoteBytes = 192 * base::kKiB;
inline constexpr std::size_t kMaxNoteTextBytes = 32 * base::kKiB;
inline constexpr std::size_t kMaxNoteSignatures = 16;
inline constexpr std::size_t kMaxKeyNameBytes = 255;
// Of one signature line. Signatures that outlast quantum computers take up to 5,000 bytes.
inline constexpr std::size_t kMaxSignatureLineBytes = 8 * base::kKiB;
static_assert(kMaxNoteTextBytes + 1 + kMaxNoteSignatures * kMaxSignatureLineBytes <= kMaxNoteBytes);

// Not empty, well-formed UTF-8, without spaces of any script, control characters and '+'.
[[nodiscard]] bool is_key_name(std::string_view name) noexcept;

// Whether it can be the text of a note: UTF-8 that ends in a newline and has no other control
// characters, within kMaxNoteTextBytes.
[[nodiscard]] bool is_note_text(std::string_view text) noexcept;

// A key that notes are verified with. Copies are cheap.
class NoteVerifier {
 public:
  // Malformed: not the name of a key, or a key that VerifyingKey refuses.
  static base::Result<NoteVerifier> make(std::string name, const auth::PublicKey& key);
  // `<name>+<key id, 8 hex digits>+<base64 of 0x01 and the key>`, exactly as text() prints it.
  static base::Result<NoteVerifier> parse(std::string_view vkey);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t key_id() const noexcept { return key_id_; }
  [[nodiscard]] const auth::PublicKey& public_key() const noexcept { return key_.public_key(); }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool verify(std::string_view text, base::ByteView signature) const noexcept;

 private:
  NoteVerifier(std::string name, std::uint32_t key_id, auth::VerifyingKey key)
      : name_(std::move(name)), key_id_(key_id), key_(std::move(key)) {}

  std::string name_;
  std::uint32_t key_id_;
  auth::VerifyingKey key_;
};

// A key that notes are signed with, under a name.
class NoteSigner {
 public:
  static base::Result<NoteSigner> make(std::string name, auth::SigningKey key);

  [[nodiscard]] const NoteVerifier& verifier() const noexcept { return verifier_; }
  // The whole note: text and signature. Malformed if it is no text of a note.
  [[nodiscard]] base::Result<std::string> sign(std::string_view text) const;

 private:
  NoteSigner(NoteVerifier verifier, auth::SigningKey key)
      : verifier_(std::move(verifier)), key_(std::move(key)) {}

  NoteVerifier verifier_;
  auth::SigningKey key_;
};

struct NoteSignature {
  std::string name;
  std::uint32_t key_id = 0;
  std::vector<std::byte> signature;

  friend bool operator==(const NoteSignature&, const NoteSignature&) = default;
};

// A note as it is written. Nobody has verified it yet.
struct Note {
  std::string text;
  std::vector<NoteSignature> signatures;  // at least one

  friend bool operator==(const Note&, const Note&) = default;
};

// Exactly what print_note makes of a sound note; anything else is Malformed.
base::Result<Note> parse_note(std::string_view note);
std::string print_note(const Note& note);

// The text, once a known key has signed it. InvalidSig if none has, or if the signature of a known
// one does not verify; Malformed as parse_note.
base::Result<std::string> open_note(std::string_view note, std::span<const NoteVerifier> known);

}  // namespace ron::chain
