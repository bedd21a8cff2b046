#include "chain/note.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/encoding.h"

namespace ron::chain {
namespace {

using base::Code;

// The published example of golang.org/x/mod/sumdb/note: key, text and signature.
constexpr std::string_view kPeter =
    "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
constexpr std::string_view kPeterSeed =
    "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";  // after 0x01
constexpr std::string_view kPeterText =
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n";
constexpr std::string_view kPeterSignature =
    "\u2014 PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZ"
    "b6KE6RyyBwJnAM=\n";

std::string peter_note() { return std::string(kPeterText).append("\n").append(kPeterSignature); }
NoteVerifier peter() { return NoteVerifier::parse(kPeter).value(); }
NoteSigner signer(const std::string& name, unsigned char fill) {
  const std::vector<std::byte> seed(auth::SigningKey::kSeedBytes, static_cast<std::byte>(fill));
  return NoteSigner::make(name, auth::SigningKey::from_seed(seed).value()).value();
}
std::span<const NoteVerifier> only(const NoteVerifier& verifier) { return {&verifier, 1}; }

// A note's signature lines, of which the last is taken off, or another put behind.
std::string signatures_of(const std::string& note) { return note.substr(note.rfind("\n\n") + 2); }

TEST(Note, AgreesWithThePublishedExample) {
  EXPECT_EQ(peter().name(), "PeterNeumann");
  EXPECT_EQ(peter().key_id(), 0xc74f20a3U);
  EXPECT_EQ(peter().text(), kPeter);
  EXPECT_EQ(open_note(peter_note(), only(peter())).value(), kPeterText);
  // Ed25519 is deterministic: the same key makes the same note.
  const auto seed = base::from_base64_exact(kPeterSeed).value();
  auto key = auth::SigningKey::from_seed(std::span(seed).subspan(1)).value();
  const auto made = NoteSigner::make("PeterNeumann", std::move(key)).value();
  EXPECT_EQ(made.verifier().text(), kPeter);
  EXPECT_EQ(made.sign(kPeterText).value(), peter_note());
}

TEST(Note, TheLastBlankLineSeparates) {
  const std::string note = "first\n\nsecond, für sich\n\n\u2014 example.com/log Az3grgEC\n";
  const Note parsed = parse_note(note).value();
  EXPECT_EQ(parsed.text, "first\n\nsecond, für sich\n");
  ASSERT_EQ(parsed.signatures.size(), 1U);
  EXPECT_EQ(parsed.signatures[0].name, "example.com/log");
  EXPECT_EQ(parsed.signatures[0].key_id, 0x033de0aeU);
  EXPECT_EQ(parsed.signatures[0].signature, (std::vector<std::byte>{std::byte{1}, std::byte{2}}));
  EXPECT_EQ(print_note(parsed), note);
}

TEST(Note, RefusesEveryFlippedBit) {
  const std::string note = peter_note();
  const NoteVerifier verifier = peter();
  for (std::size_t bit = 0; bit < 8 * note.size(); ++bit) {
    std::string flipped = note;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ static_cast<char>(1U << (bit % 8)));
    EXPECT_FALSE(open_note(flipped, only(verifier))) << bit;
  }
}

TEST(Note, SignaturesOfUnknownKeysAreIgnored) {
  const NoteSigner log = signer("example.com/log", 1);
  const std::string text = "text\n";
  std::string note = log.sign(text).value();
  note += signatures_of(signer("witness", 2).sign(text).value());
  note += "\u2014 future AAAABQY=\n";  // another kind of key
  EXPECT_EQ(open_note(note, only(log.verifier())).value(), text);
  const NoteSigner stranger = signer("stranger", 3);
  EXPECT_EQ(open_note(note, only(stranger.verifier())).error().code, Code::InvalidSig);
  EXPECT_EQ(open_note(note, {}).error().code, Code::InvalidSig);
  // The same key under another name, or another key under the same name, is another one.
  EXPECT_FALSE(open_note(note, only(signer("example.com/other", 1).verifier())));
  EXPECT_FALSE(open_note(note, only(signer("example.com/log", 4).verifier())));
}

TEST(Note, ASignatureOfAKnownKeyThatFailsIsAnError) {
  const NoteSigner log = signer("log", 1);
  const NoteSigner witness = signer("witness", 2);
  const std::vector<NoteVerifier> known{log.verifier(), witness.verifier()};
  std::string note = log.sign("text\n").value();
  const std::string good = note + signatures_of(witness.sign("text\n").value());
  EXPECT_TRUE(open_note(good, known));
  const std::string bad = note + signatures_of(witness.sign("other\n").value());
  const auto opened = open_note(bad, known);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::InvalidSig);
  EXPECT_NE(opened.error().message.find("witness"), std::string::npos);
  EXPECT_TRUE(open_note(bad, only(log.verifier())));
}

TEST(Note, RefusesWhatIsNotExactlyANote) {
  const std::string text = "text\n";
  const std::string line = signatures_of(signer("log", 1).sign(text).value());
  ASSERT_TRUE(parse_note(text + "\n" + line));
  const std::string base64 = line.substr(line.rfind(' ') + 1);
  for (const std::string& bad : {std::string(),
                                 std::string("\n"),
                                 std::string("\n\n"),
                                 text,
                                 text + "\n",
                                 text + line,
                                 "text\n\n\n" + line.substr(0, line.size() - 1),
                                 text + "\n" + line + "\n",
                                 text + "\n" + line + "x",
                                 text + "\n" + line + "x\n",
                                 "te\rxt\n\n" + line,
                                 "te\txt\n\n" + line,
                                 std::string("te\0xt\n\n", 7) + line,
                                 "te\xffxt\n\n" + line,
                                 "te\xed\xa0\x80xt\n\n" + line,
                                 text + "\n- log " + base64,
                                 text + "\n\u2014log " + base64,
                                 text + "\n\u2014  " + base64,
                                 text + "\n\u2014 log  " + base64,
                                 text + "\n\u2014 lo+g " + base64,
                                 text + "\n\u2014 lo\u00a0g " + base64,
                                 text + "\n\u2014 lo\u3000g " + base64,
                                 text + "\n\u2014 log\n",
                                 text + "\n\u2014 log \n",
                                 text + "\n\u2014 log AAAA\n",
                                 text + "\n\u2014 log AAAAAA==\n",
                                 text + "\n\u2014 log AAAABQZ=\n",
                                 text + "\n\u2014 log AAAABQY\n",
                                 text + "\n\u2014 log AAAA-QY=\n",
                                 text + "\n\u2014 log AAAABQY= \n"}) {
    const auto note = parse_note(bad);
    ASSERT_FALSE(note) << bad;
    EXPECT_EQ(note.error().code, Code::Malformed);
  }
  EXPECT_TRUE(parse_note(text + "\n\u2014 log AAAABQY=\n"));
  EXPECT_TRUE(parse_note("\n\n" + line)) << "a text of one empty line";
}

TEST(Note, HasBounds) {
  const std::string line = "\u2014 log AAAABQY=\n";
  std::string note = "text\n\n";
  for (std::size_t i = 0; i < kMaxNoteSignatures; ++i) note += line;
  EXPECT_TRUE(parse_note(note));
  EXPECT_FALSE(parse_note(note + line));
  std::string text(kMaxNoteTextBytes, 'x');
  text.back() = '\n';
  const NoteSigner log = signer("log", 1);
  EXPECT_EQ(open_note(log.sign(text).value(), only(log.verifier())).value(), text);
  EXPECT_FALSE(log.sign("x" + text));
  EXPECT_FALSE(parse_note("x" + text + "\n" + line));
  EXPECT_TRUE(is_key_name(std::string(kMaxKeyNameBytes, 'x')));
  EXPECT_FALSE(is_key_name(std::string(kMaxKeyNameBytes + 1, 'x')));
  const std::string large =
      base::to_base64(std::vector<std::byte>(5000, std::byte{1}));  // of a post-quantum key
  EXPECT_TRUE(parse_note("text\n\n\u2014 log " + large + "\n"));
  EXPECT_FALSE(parse_note("text\n\n\u2014 log " + large + large.substr(0, 6664) + "\n"));
}

TEST(Note, SignsOnlyWhatCanBeRead) {
  const NoteSigner log = signer("log", 1);
  for (const std::string_view bad : {"", "text", "te\txt\n", "te\xffxt\n"}) {
    EXPECT_EQ(log.sign(bad).error().code, Code::Malformed) << bad;
  }
  EXPECT_TRUE(rc::check("open(sign(text)) == text", [&log](const std::string& raw) {
    const std::string text = raw + "\n";
    const auto note = log.sign(text);
    RC_ASSERT(note.has_value() == is_note_text(text));
    if (note) RC_ASSERT(open_note(*note, only(log.verifier())).value() == text);
  }));
}

TEST(NoteVerifier, RefusesEveryMangledKey) {
  for (std::size_t from = 0; from < kPeter.size(); ++from) {
    for (std::size_t count = 0; from + count <= kPeter.size(); ++count) {
      if (count == kPeter.size()) continue;
      EXPECT_FALSE(NoteVerifier::parse(kPeter.substr(from, count))) << kPeter.substr(from, count);
    }
  }
  for (std::size_t bit = 0; bit < 8 * kPeter.size(); ++bit) {
    std::string flipped(kPeter);
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ static_cast<char>(1U << (bit % 8)));
    EXPECT_FALSE(NoteVerifier::parse(flipped)) << flipped;
  }
  // A key of another length and an unknown algorithm, both with the key id that belongs to them.
  EXPECT_FALSE(NoteVerifier::parse(
      "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY=="));
  EXPECT_FALSE(
      NoteVerifier::parse("PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"));
}

TEST(NoteSigner, RefusesNamesThatWouldNotBeReadAgain) {
  const std::vector<std::byte> seed(auth::SigningKey::kSeedBytes, std::byte{1});
  for (const std::string_view bad :
       {"", "a b", "a+b", "a\nb", "a\u2003b", "a\u0085b", "a\xff", "a\tb"}) {
    EXPECT_FALSE(NoteSigner::make(std::string(bad), auth::SigningKey::from_seed(seed).value()))
        << bad;
  }
  EXPECT_TRUE(NoteSigner::make("für.example/log", auth::SigningKey::from_seed(seed).value()));
}

}  // namespace
}  // namespace ron::chain
