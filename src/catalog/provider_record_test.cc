#include "catalog/provider_record.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"
#include "base/cbor.h"
#include "base/encoding.h"

namespace ron::catalog {
namespace {

using base::as_bytes;
using base::Code;

auth::SigningKey key_of(unsigned char fill) {
  const std::vector<std::byte> seed(auth::SigningKey::kSeedBytes, static_cast<std::byte>(fill));
  return auth::SigningKey::from_seed(seed).value();
}

ProviderRecord sample() {
  return {.addr = b3::hash(as_bytes("hello")),
          .url = "https://one.example:8443/base",
          .node = {},
          .region = "eu-west-1",
          .seq = 7,
          .expires_ms = 1'800'000'000'000,
          .sig = {}};
}
ProviderRecord signed_sample() { return sign(sample(), key_of(1)).value(); }

TEST(ProviderRecord, IsTheMapOfTheContract) {
  const ProviderRecord record = signed_sample();
  const std::string bytes = encode(record);
  base::CborReader cbor(bytes);
  EXPECT_EQ(cbor.map(), 7U);
  cbor.key("seq");
  EXPECT_EQ(cbor.unsigned_number(), 7U);
  cbor.key("sig");
  EXPECT_EQ(cbor.bytes().size(), 64U);
  cbor.key("url");
  EXPECT_EQ(cbor.text(), "https://one.example:8443/base");
  cbor.key("addr");
  EXPECT_EQ(base::as_text(cbor.bytes()), base::as_text(record.addr.digest()));
  cbor.key("node");
  EXPECT_EQ(base::as_text(cbor.bytes()), base::as_text(key_of(1).public_key().bytes));
  cbor.key("region");
  EXPECT_EQ(cbor.text(), "eu-west-1");
  cbor.key("expires");
  EXPECT_EQ(cbor.unsigned_number(), 1'800'000'000'000U);
  EXPECT_TRUE(cbor.complete());
}

TEST(ProviderRecord, ComesBackFromItsBytes) {
  EXPECT_TRUE(rc::check("decode(encode(record))", [] {
    ProviderRecord record = sample();
    record.addr = b3::hash(as_bytes(*rc::gen::arbitrary<std::string>()));
    record.url = "http://h/" + *rc::gen::container<std::string>(rc::gen::inRange('!', '\x7F'));
    record.region =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcxyz0189-")));
    record.seq = *rc::gen::arbitrary<std::uint64_t>();
    record.expires_ms = *rc::gen::arbitrary<std::uint64_t>();
    RC_PRE(record.url.size() <= kMaxProviderUrlBytes && record.region.size() <= kMaxRegionBytes);
    const ProviderRecord made = sign(record, key_of(3)).value();
    RC_ASSERT(has_valid_signature(made));
    RC_ASSERT(decode_provider_record(as_bytes(encode(made))).value() == made);
  }));
}

TEST(ProviderRecord, RefusesWhatIsNotExactlyOne) {
  const std::string bytes = encode(signed_sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_provider_record(as_bytes(std::string_view(bytes).substr(0, length))));
  }
  EXPECT_FALSE(decode_provider_record(as_bytes(bytes + '\0')));
  EXPECT_FALSE(decode_provider_record(as_bytes(std::string(kMaxProviderRecordBytes + 1, 'a'))));
  std::string extra;
  base::CborWriter cbor(extra);
  cbor.map(1).key("seq").unsigned_number(1);
  EXPECT_EQ(decode_provider_record(as_bytes(extra)).error().code, Code::Malformed);
}

// Every byte of a record is either signed or part of the signature.
TEST(ProviderRecord, FailsWithAnyBitFlipped) {
  const std::string bytes = encode(signed_sample());
  ASSERT_TRUE(has_valid_signature(decode_provider_record(as_bytes(bytes)).value()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(static_cast<unsigned char>(damaged[i]) ^ (1U << bit));
      const auto record = decode_provider_record(as_bytes(damaged));
      EXPECT_FALSE(record && has_valid_signature(*record)) << i << "." << bit;
    }
  }
}

TEST(ProviderRecord, IsNotValidUnderAnotherNodesKey) {
  ProviderRecord record = signed_sample();
  record.node = key_of(2).public_key();
  EXPECT_FALSE(has_valid_signature(record));
  record.node = {};  // a point of small order, under which anybody can sign
  EXPECT_FALSE(has_valid_signature(record));
}

TEST(ProviderRecord, SignsATextOfItsOwn) {
  const ProviderRecord record = signed_sample();
  const std::string text = signed_text(record);
  EXPECT_TRUE(text.starts_with("ron-provider/v1\n\xa6"));
  ProviderRecord other = record;
  other.sig = {};
  EXPECT_EQ(signed_text(other), text);
  EXPECT_EQ(record.sig, key_of(1).sign(as_bytes(text)).value());
}

TEST(ProviderRecord, TakesHttpUrlsWithAHostOnly) {
  const auto accepts = [](std::string url) {
    ProviderRecord record = sample();
    record.url = std::move(url);
    const auto made = sign(record, key_of(1));
    return made && decode_provider_record(as_bytes(encode(*made))).has_value();
  };
  for (const char* good : {"http://a", "https://a", "http://127.0.0.1:80", "http://[::1]:8081/x",
                           "https://a/b@c", "https://a?x=@"}) {
    EXPECT_TRUE(accepts(good)) << good;
  }
  for (const char* bad :
       {"", "http://", "https://", "http:///x", "http://:80", "http://user:secret@host/", "ftp://a",
        "unix:/run/x", "HTTP://a", "http//a", "http://a b", "http://a\nb", "http://ä", "a"}) {
    EXPECT_FALSE(accepts(bad)) << bad;
  }
  EXPECT_TRUE(accepts("http://" + std::string(kMaxProviderUrlBytes - 7, 'a')));
  EXPECT_FALSE(accepts("http://" + std::string(kMaxProviderUrlBytes - 6, 'a')));
}

TEST(ProviderRecord, TakesPlainRegionsOnly) {
  const auto accepts = [](std::string region) {
    ProviderRecord record = sample();
    record.region = std::move(region);
    return sign(record, key_of(1)).has_value();
  };
  EXPECT_TRUE(accepts(""));
  EXPECT_TRUE(accepts(std::string(kMaxRegionBytes, 'a')));
  EXPECT_FALSE(accepts(std::string(kMaxRegionBytes + 1, 'a')));
  EXPECT_FALSE(accepts("EU"));
  EXPECT_FALSE(accepts("eu west"));
  EXPECT_FALSE(accepts("eu_west"));
}

TEST(LaneKey, IsTheHashOfTheContract) {
  const base::ObjectId addr = b3::hash(as_bytes("hello"));
  std::string hashed = "ron-lane/v1";
  hashed += '\x02';
  hashed += base::as_text(addr.digest());
  EXPECT_EQ(lane_key(2, addr), b3::hash(as_bytes(hashed)).text().substr(3, 40));
  EXPECT_NE(lane_key(0, addr), lane_key(1, addr));
  EXPECT_NE(lane_key(0, addr), lane_key(0, b3::hash(as_bytes("world"))));
}

}  // namespace
}  // namespace ron::catalog
