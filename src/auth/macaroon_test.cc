#include "auth/macaroon.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/encoding.h"

namespace ron::auth {
namespace {

using base::as_bytes;
using base::ByteView;

constexpr std::string_view kKey = "this is our super secret key; only we should know it";

std::vector<std::byte> bytes_of_hex(std::string_view hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  EXPECT_TRUE(base::from_hex(hex, bytes));
  return bytes;
}

Macaroon sample() {
  return Macaroon::mint(as_bytes(kKey), "we used our secret key", "ron")
      .value()
      .attenuate("account = 3735928559")
      .value();
}

std::string random_text(std::size_t min, std::size_t max) {
  const auto size = *rc::gen::inRange(min, max + 1);
  return *rc::gen::container<std::string>(size, rc::gen::arbitrary<char>());
}

Macaroon random_token() {
  auto token = Macaroon::mint(as_bytes(kKey), random_text(1, 200), random_text(0, 200)).value();
  const int caveats = *rc::gen::inRange(0, 6);
  for (int i = 0; i < caveats; ++i) token = token.attenuate(random_text(1, 200)).value();
  return token;
}

TEST(Macaroon, WireFormMatchesTheNpmClient) {
  // Printed by the npm package macaroon 3.0.4 for the same inputs.
  EXPECT_EQ(
      base::to_hex(sample().serialize()),
      "020103726f6e021677652075736564206f757220736563726574206b65790002146163636f756e74203d20333733"
      "35393238353539000006201efe4763f290dbce0c1d08477367e11f4eee456a64933cf662d79772dbb82128");
}

TEST(Macaroon, LongFieldsTakeTwoLengthBytes) {
  const auto token = Macaroon::mint(as_bytes(kKey), std::string(300, 'i'), "").value();
  const auto bytes = token.serialize();
  EXPECT_EQ(base::to_hex(ByteView(bytes).first(5)), "0202ac0269");
  EXPECT_EQ(Macaroon::parse(bytes).value(), token);
}

TEST(Macaroon, VerifiesUnderItsKeyOnly) {
  EXPECT_TRUE(sample().verify(as_bytes(kKey)));
  EXPECT_FALSE(sample().verify(as_bytes("another key")));
  EXPECT_FALSE(sample().verify({}));
}

TEST(Macaroon, RoundTripsThroughBytesAndText) {
  EXPECT_TRUE(rc::check("parse(serialize(m)) == m", [] {
    const Macaroon token = random_token();
    const auto bytes = token.serialize();
    RC_ASSERT(Macaroon::parse(bytes).value() == token);
    RC_ASSERT(Macaroon::parse(bytes).value().serialize() == bytes);
    RC_ASSERT(Macaroon::parse_text(token.text()).value() == token);
    RC_ASSERT(Macaroon::parse(bytes).value().verify(as_bytes(kKey)));
  }));
}

TEST(Macaroon, RefusesEveryTruncationAndTrailingByte) {
  auto bytes = sample().serialize();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Macaroon::parse(ByteView(bytes).first(size))) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(Macaroon::parse(bytes));
}

TEST(Macaroon, ABitFlipAnywhereButInTheUnsignedLocationRefuses) {
  const auto bytes = sample().serialize();
  const std::size_t location_first = 3;
  const std::size_t location_end = location_first + sample().location().size();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto token = Macaroon::parse(flipped);
    const bool in_location = bit / 8 >= location_first && bit / 8 < location_end;
    EXPECT_EQ(token && token->verify(as_bytes(kKey)), in_location) << "bit " << bit;
  }
}

TEST(Macaroon, CaveatsCannotBeRemovedOrReordered) {
  const Macaroon two = sample().attenuate("b = 2").value();
  // The wire of `sample` with the signature of `two`, and the caveats of `two` swapped.
  auto removed = sample().serialize();
  std::ranges::copy(two.signature(), removed.end() - Macaroon::kSignatureBytes);
  EXPECT_FALSE(Macaroon::parse(removed).value().verify(as_bytes(kKey)));

  auto swapped = Macaroon::mint(as_bytes(kKey), "we used our secret key", "ron")
                     .value()
                     .attenuate("b = 2")
                     .value()
                     .attenuate("account = 3735928559")
                     .value()
                     .serialize();
  EXPECT_TRUE(Macaroon::parse(swapped).value().verify(as_bytes(kKey)));
  std::ranges::copy(two.signature(), swapped.end() - Macaroon::kSignatureBytes);
  EXPECT_FALSE(Macaroon::parse(swapped).value().verify(as_bytes(kKey)));
}

TEST(Macaroon, RefusesMalformedPackets) {
  const std::string signature = "0620" + std::string(64, '0');
  EXPECT_TRUE(Macaroon::parse(bytes_of_hex("020201690000" + signature)));
  EXPECT_TRUE(Macaroon::parse(bytes_of_hex("02020169000201630000" + signature)));
  for (const std::string& bad : {
           "010201690000" + signature,                      // version 1
           "02028100690000" + signature,                    // length 1 written in two bytes
           "0202818000690000" + signature,                  // length 1 written in three bytes
           "0202ffffffffffffffffff01690000" + signature,    // length beyond 64 bits
           "0202000000" + signature,                        // empty identifier
           "0201000201690000" + signature,                  // empty location
           "020201690002000000" + signature,                // empty caveat
           "02016c" + signature,                            // no identifier
           "0202016901016c0000" + signature,                // location after identifier
           "020201690201690000" + signature,                // two identifiers
           "02020169000201630401760000" + signature,        // third-party caveat
           "020201690001016c0201630401760000" + signature,  // the same with a location
           "020201690001016c0201630000" + signature,        // caveat location, no verification id
           "020201690002016300" + signature,                // caveat section not ended
           "02020169000301630000" + signature,              // unknown packet
           std::string("020201690000061f") + std::string(62, '0'),  // short signature
           std::string("0202016900000621") + std::string(66, '0'),  // long signature
           std::string("020201690000"),                             // no signature
           "020201690000" + signature + "00",                       // trailing byte
           "020201690000" + signature + signature,                  // two signatures
       }) {
    const auto token = Macaroon::parse(bytes_of_hex(bad));
    ASSERT_FALSE(token) << bad;
    EXPECT_EQ(token.error().code, base::Code::Malformed);
  }
}

TEST(Macaroon, HoldsAtMostThirtyTwoCaveats) {
  Macaroon token = sample();
  while (token.caveats().size() < kMaxCaveats) token = token.attenuate("c").value();
  EXPECT_TRUE(Macaroon::parse(token.serialize()));
  EXPECT_FALSE(token.attenuate("c"));
  auto bytes = token.serialize();
  const std::size_t end_of_caveats = bytes.size() - Macaroon::kSignatureBytes - 3;
  const auto extra = bytes_of_hex("02016300");
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(end_of_caveats), extra.begin(),
               extra.end());
  EXPECT_FALSE(Macaroon::parse(bytes));
}

TEST(Macaroon, IsAtMostEightKibibytes) {
  const Macaroon token = Macaroon::mint(as_bytes(kKey), "i", "").value();
  const std::size_t room = kMaxTokenBytes - token.serialize().size() - 4;
  const auto largest = token.attenuate(std::string(room, 'c'));
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->serialize().size(), kMaxTokenBytes);
  EXPECT_EQ(Macaroon::parse_text(largest->text()).value(), *largest);
  EXPECT_FALSE(token.attenuate(std::string(room + 1, 'c')));
  EXPECT_FALSE(Macaroon::mint(as_bytes(kKey), std::string(kMaxTokenBytes, 'i'), ""));
  EXPECT_FALSE(Macaroon::parse(std::vector<std::byte>(kMaxTokenBytes + 1, std::byte{2})));
  EXPECT_FALSE(Macaroon::parse_text(std::string(kMaxTokenTextBytes + 1, 'A')));
}

TEST(Macaroon, MintsOnlyWithKeyAndIdentifier) {
  EXPECT_FALSE(Macaroon::mint({}, "i", ""));
  EXPECT_FALSE(Macaroon::mint(as_bytes(kKey), "", ""));
  EXPECT_FALSE(sample().attenuate(""));
}

TEST(Macaroon, TextAcceptsPaddingAndTheClassicAlphabet) {
  // Identifiers of growing length reach every padding; 0xff bytes need the special digits.
  for (std::size_t size = 1; size <= 3; ++size) {
    const auto token = Macaroon::mint(as_bytes(kKey), std::string(size, '\xff'), "").value();
    std::string classic = token.text();
    EXPECT_EQ(classic.find_first_of("+/="), std::string::npos);
    std::ranges::replace(classic, '-', '+');
    std::ranges::replace(classic, '_', '/');
    classic.append((4 - classic.size() % 4) % 4, '=');
    ASSERT_TRUE(Macaroon::parse_text(classic)) << size;
    EXPECT_EQ(Macaroon::parse_text(classic).value(), token);
  }
}

TEST(Macaroon, TextHasNoSecondSpelling) {
  for (std::size_t size = 1; size <= 3; ++size) {
    const auto token = Macaroon::mint(as_bytes(kKey), std::string(size, 'i'), "").value();
    const std::string text = token.text();
    EXPECT_FALSE(Macaroon::parse_text(text + "===="));
    EXPECT_FALSE(Macaroon::parse_text(text + " "));
    EXPECT_FALSE(Macaroon::parse_text(text + "\n"));
    for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
      std::string flipped = text;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      const auto other = Macaroon::parse_text(flipped);
      EXPECT_FALSE(other && *other == token) << flipped;
    }
  }
}

TEST(Macaroon, FingerprintIsShortStableAndChangesWithTheToken) {
  EXPECT_TRUE(is_fingerprint(fingerprint(sample())));
  EXPECT_EQ(fingerprint(sample()), fingerprint(sample()));
  EXPECT_NE(fingerprint(sample()), fingerprint(sample().attenuate("b = 2").value()));
  EXPECT_EQ(base::to_hex(sample().signature()).find(fingerprint(sample())), std::string::npos);
  for (const char* bad : {"", "1234567", "123456789", "1234567G", "ABCDEF01"}) {
    EXPECT_FALSE(is_fingerprint(bad)) << bad;
  }
}

TEST(Macaroon, LineageNamesEveryAncestor) {
  const auto minted = Macaroon::mint(as_bytes(kKey), "i", "").value();
  const auto once = minted.attenuate("a").value();
  const auto twice = once.attenuate("b").value();
  EXPECT_EQ(twice.lineage(as_bytes(kKey)),
            (std::vector{fingerprint(minted), fingerprint(once), fingerprint(twice)}));
  EXPECT_TRUE(twice.lineage(as_bytes("another key")).empty());
}

TEST(Macaroon, ErrorsDoNotQuoteTheToken) {
  const std::string text = sample().text();
  const auto bad = Macaroon::parse_text(text + "AAAA");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message.find(text.substr(0, 8)), std::string::npos);
}

}  // namespace
}  // namespace ron::auth
