#include "chain/checkpoint.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"

namespace ron::chain {
namespace {

using base::Code;

Checkpoint sample() {
  Checkpoint checkpoint;
  checkpoint.origin = "example.com/registry";
  checkpoint.version = 69'999;
  checkpoint.root = empty_root();
  checkpoint.hash = b3::hash(base::as_bytes("version"));
  checkpoint.pruned_below = 1000;
  checkpoint.state = b3::hash(base::as_bytes("state"));
  return checkpoint;
}

constexpr std::string_view kSample =
    "example.com/registry\n"
    "70000\n"
    "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    "chain 69999 b3:VERSION\n"
    "pruned-below 1000\n"
    "state b3:STATE\n";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}
std::string sample_text() {
  const std::string text = replaced(std::string(kSample), "b3:VERSION", sample().hash.text());
  return replaced(text, "b3:STATE", sample().state.text());
}

TEST(Checkpoint, HasThisText) {
  EXPECT_EQ(print_checkpoint(sample()).value(), sample_text());
  EXPECT_EQ(parse_checkpoint(sample_text()).value(), sample());
}

TEST(Checkpoint, ComesBackFromItsText) {
  EXPECT_TRUE(rc::check("parse(print(checkpoint))", [] {
    Checkpoint checkpoint = sample();
    checkpoint.version =
        *rc::gen::inRange<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max());
    checkpoint.pruned_below = *rc::gen::inRange<std::uint64_t>(0, checkpoint.version + 1);
    for (std::byte& b : checkpoint.root) b = static_cast<std::byte>(*rc::gen::inRange(0, 256));
    const auto further = *rc::gen::inRange<std::size_t>(0, kMaxFurtherLines + 1);
    for (std::size_t i = 0; i < further; ++i) checkpoint.further.push_back(std::to_string(i));
    const std::string text = print_checkpoint(checkpoint).value();
    RC_ASSERT(parse_checkpoint(text).value() == checkpoint);
  }));
}

TEST(Checkpoint, KeepsLinesItDoesNotUnderstand) {
  const auto parsed = parse_checkpoint(sample_text() + "future 1\nanother\n").value();
  EXPECT_EQ(parsed.further, (std::vector<std::string>{"future 1", "another"}));
  EXPECT_EQ(print_checkpoint(parsed).value(), sample_text() + "future 1\nanother\n");
}

TEST(Checkpoint, RefusesEverythingElse) {
  const std::string good = sample_text();
  const std::string hash = sample().hash.text();
  std::string upper = hash;
  for (char& c : upper) {
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  }
  ASSERT_NE(upper, hash);
  std::vector<std::string> bad{
      "",
      "\n",
      good.substr(0, good.size() - 1),
      good + "\n",
      good + "x",
      good + "chain 1 " + hash + "\n",
      good + "pruned-below 3\n",
      good + "state " + hash + "\n",
      good + "fut\ture\n",
      good + "fut\xffure\n",
      replaced(good, "example.com/registry", ""),
      replaced(good, "registry", "regis\ttry"),
      replaced(good, "70000", "070000"),
      replaced(good, "70000", "+70000"),
      replaced(good, "70000", "70000 "),
      replaced(good, "70000", "70001"),
      replaced(good, "70000", "0"),
      replaced(good, "70000", "18446744073709551616"),
      replaced(good, "69999", "069999"),
      replaced(good, "69999", "69998"),
      replaced(good, "chain 69999 ", "chain 69999  "),
      replaced(good, "chain 69999 ", "chain  69999 "),
      replaced(good, "chain 69999 ", "chain\t69999 "),
      replaced(good, "chain 69999 ", "Chain 69999 "),
      replaced(good, "47DEQ", "47DE"),
      replaced(good, "SuFU=", "SuFU"),
      replaced(good, "SuFU=", "SuFV="),
      replaced(good, "8HBSa+", "8HBSa-"),
      replaced(good, hash, upper),
      replaced(good, hash, hash.substr(3)),
      replaced(good, "pruned-below 1000\n", ""),
      replaced(good, "pruned-below 1000", "pruned-below 70000"),
      replaced(good, "pruned-below 1000", "pruned-below -1"),
      replaced(good, "pruned-below 1000", "pruned-below"),
      replaced(good, "state ", "state  "),
      good.substr(0, good.find("state")),
      good.substr(0, good.find("pruned")) + good.substr(good.find("state")) + "pruned-below 1000\n",
      good + std::string(kMaxFurtherLineBytes + 1, 'x') + "\n",
  };
  std::string many = good;
  for (std::size_t i = 0; i <= kMaxFurtherLines; ++i) many += "x\n";
  bad.push_back(many);
  bad.push_back(std::string(kMaxOriginBytes + 1 - sample().origin.size(), 'x') + good);
  for (const std::string& text : bad) {
    const auto checkpoint = parse_checkpoint(text);
    ASSERT_FALSE(checkpoint) << text;
    EXPECT_EQ(checkpoint.error().code, Code::Malformed);
  }
}

TEST(Checkpoint, PrintsOnlyWhatCanBeRead) {
  const auto refused = [](auto&& change) {
    Checkpoint checkpoint = sample();
    change(checkpoint);
    return !print_checkpoint(checkpoint);
  };
  EXPECT_FALSE(refused([](Checkpoint&) {}));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.origin.clear(); }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.origin = "a\nb"; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.version = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.pruned_below = c.version + 1; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.further = {""}; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.further = {"a\nb"}; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.further = {"state of the art"}; }));
  EXPECT_TRUE(refused([](Checkpoint& c) { c.further.assign(kMaxFurtherLines + 1, "x"); }));
}

TEST(Checkpoint, IsTheTextOfASignedNote) {
  const std::vector<std::byte> seed(auth::SigningKey::kSeedBytes, std::byte{1});
  const auto signer =
      NoteSigner::make(sample().origin, auth::SigningKey::from_seed(seed).value()).value();
  const std::string note = signer.sign(print_checkpoint(sample()).value()).value();
  const auto text = open_note(note, {&signer.verifier(), 1});
  ASSERT_TRUE(text);
  EXPECT_EQ(parse_checkpoint(*text).value(), sample());
}

}  // namespace
}  // namespace ron::chain
