#include "auth/ed25519.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <rapidcheck.h>

#include "auth/test_programs.h"
#include "base/encoding.h"

namespace ron::auth {
namespace {

using base::as_bytes;
using base::Code;
using testing::Outcome;
using testing::run;

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  EXPECT_TRUE(base::from_hex(hex, bytes)) << hex;
  return bytes;
}
PublicKey key_of(std::string_view hex) {
  PublicKey key;
  EXPECT_TRUE(base::from_hex(hex, key.bytes)) << hex;
  return key;
}
Signature signature_of(std::string_view hex) {
  Signature signature{};
  EXPECT_TRUE(base::from_hex(hex, signature)) << hex;
  return signature;
}

struct Vector {
  std::string_view seed;
  std::string_view key;
  std::string_view message;
  std::string_view signature;
};

// RFC 8032, section 7.1: tests 1, 2, 3 and SHA(abc).
constexpr std::array<Vector, 4> kVectors = {
    Vector{
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e3970"
        "1cf9b46bd25bf5f0595bbe24655141438e7a100b"},
    Vector{
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613"
        "d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
    Vector{
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760"
        "984dc6594a7c15e9716ed28dc027beceea1ec40a"},
    Vector{
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23"
        "a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c6"
        "6431e0303dca179c138ac17ad9bef1177331a704"}};

SigningKey test_key(unsigned char fill = 7) {
  const std::vector<std::byte> seed(SigningKey::kSeedBytes, static_cast<std::byte>(fill));
  return SigningKey::from_seed(seed).value();
}
VerifyingKey verifier_of(const SigningKey& key) {
  return VerifyingKey::make(key.public_key()).value();
}

TEST(Ed25519, AgreesWithTheVectorsOfRfc8032) {
  for (const Vector& vector : kVectors) {
    const auto key = SigningKey::from_seed(bytes_of(vector.seed)).value();
    EXPECT_EQ(base::to_hex(key.public_key().bytes), vector.key);
    const auto message = bytes_of(vector.message);
    EXPECT_EQ(base::to_hex(key.sign(message).value()), vector.signature);
    const auto verifier = VerifyingKey::make(key_of(vector.key)).value();
    EXPECT_TRUE(verifier.verify(message, signature_of(vector.signature)));
    EXPECT_EQ(verifier.public_key(), key.public_key());
  }
}

TEST(Ed25519, RefusesEveryFlippedBit) {
  const SigningKey key = test_key();
  const VerifyingKey verifier = verifier_of(key);
  std::string message = "propose, approve, commit";
  const Signature signature = key.sign(as_bytes(message)).value();
  ASSERT_TRUE(verifier.verify(as_bytes(message), signature));
  for (std::size_t bit = 0; bit < 8 * signature.size(); ++bit) {
    Signature flipped = signature;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(verifier.verify(as_bytes(message), flipped)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
    std::string flipped = message;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ static_cast<char>(1U << (bit % 8)));
    EXPECT_FALSE(verifier.verify(as_bytes(flipped), signature)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * PublicKey::kBytes; ++bit) {
    PublicKey flipped = key.public_key();
    flipped.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto other = VerifyingKey::make(flipped);
    EXPECT_FALSE(other && other->verify(as_bytes(message), signature)) << bit;
  }
}

// S + the order of the group, if that fits 256 bits: the same number to whoever does not look.
std::optional<Signature> with_order_added(Signature signature) {
  std::array<std::byte, 32> order{};
  EXPECT_TRUE(
      base::from_hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010", order));
  unsigned carry = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    carry += static_cast<unsigned>(signature[32 + i]) + static_cast<unsigned>(order[i]);
    signature[32 + i] = static_cast<std::byte>(carry & 255U);
    carry >>= 8;
  }
  if (carry != 0) return std::nullopt;
  return signature;
}

TEST(Ed25519, ASignatureHasOneForm) {
  for (const Vector& vector : kVectors) {
    const auto verifier = VerifyingKey::make(key_of(vector.key)).value();
    const auto message = bytes_of(vector.message);
    int forms = 0;
    auto other = with_order_added(signature_of(vector.signature));
    for (; other; other = with_order_added(*other), ++forms) {
      EXPECT_FALSE(verifier.verify(message, *other)) << forms;
    }
    EXPECT_EQ(forms, 15);
  }
  // S exactly the order is no zero.
  const auto verifier = verifier_of(test_key());
  EXPECT_FALSE(verifier.verify({}, with_order_added(Signature{}).value()));
  EXPECT_FALSE(verifier.verify({}, Signature{}));
}

TEST(Ed25519, RefusesKeysUnderWhichAnybodyCanSign) {
  for (const std::string_view y :
       {"0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"}) {
    const auto key = VerifyingKey::make(key_of(y));
    ASSERT_FALSE(key) << y;
    EXPECT_NE(key.error().message.find("small order"), std::string::npos);
    EXPECT_FALSE(parse_public_key(base::to_base64(bytes_of(y))));
  }
}

TEST(Ed25519, RefusesKeysThatAreNotCanonical) {
  PublicKey key;
  key.bytes.fill(std::byte{0xff});
  for (const unsigned top : {0x7fU, 0xffU}) {
    key.bytes.back() = static_cast<std::byte>(top);
    for (unsigned low = 0xed; low <= 0xff; ++low) {
      key.bytes.front() = static_cast<std::byte>(low);
      EXPECT_FALSE(VerifyingKey::make(key)) << low;
    }
    key.bytes.front() = std::byte{0xeb};
    EXPECT_TRUE(VerifyingKey::make(key));
  }
}

TEST(Ed25519, KeysUsedInTurnOnOneThreadDoNotMix) {
  const SigningKey first = test_key(1);
  const SigningKey second = test_key(2);
  const VerifyingKey first_verifier = verifier_of(first);
  const VerifyingKey second_verifier = verifier_of(second);
  const Signature signature = first.sign({}).value();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(first_verifier.verify({}, signature));
    EXPECT_FALSE(second_verifier.verify({}, signature));
  }
}

TEST(Ed25519, LeavesNoErrorBehindForTheThreadsTlsConnections) {
  const SigningKey key = test_key();
  EXPECT_FALSE(verifier_of(key).verify({}, Signature{}));
  EXPECT_FALSE(
      SigningKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"));
  EXPECT_FALSE(SigningKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n"));
  EXPECT_EQ(ERR_peek_error(), 0U);
}

TEST(SigningKey, ComesBackFromItsPem) {
  EXPECT_TRUE(rc::check("round trip", [](const std::array<std::uint8_t, 32>& seed) {
    const auto key = SigningKey::from_seed(std::as_bytes(std::span(seed))).value();
    const auto again = SigningKey::from_pem(key.pem().value()).value();
    RC_ASSERT(again.public_key() == key.public_key());
    RC_ASSERT(again.sign(as_bytes("x")).value() == key.sign(as_bytes("x")).value());
    const std::string pem = public_pem(key.public_key()).value();
    RC_ASSERT(parse_public_key(pem).value() == key.public_key());
    const std::string text = base::to_base64(key.public_key().bytes);
    RC_ASSERT(parse_public_key(text).value() == key.public_key());
  }));
}

TEST(SigningKey, RefusesSeedsOfAnotherLength) {
  for (const std::size_t length : {0U, 31U, 33U, 64U}) {
    const std::vector<std::byte> seed(length);
    EXPECT_FALSE(SigningKey::from_seed(seed)) << length;
  }
}

TEST(SigningKey, RefusesWhateverIsNotOnePkcs8Key) {
  const std::string pem = test_key().pem().value();
  EXPECT_TRUE(SigningKey::from_pem("\n " + pem + "\r\n"));
  std::string damaged = pem;
  damaged[40] = damaged[40] == 'A' ? 'B' : 'A';
  for (const std::string& bad :
       {std::string(), std::string("hello"), pem + pem, pem + "x", "x\n" + pem, damaged,
        pem.substr(0, pem.size() / 2), public_pem(test_key().public_key()).value(),
        std::string(kMaxPemBytes, '\n') + pem}) {
    const auto key = SigningKey::from_pem(bad);
    ASSERT_FALSE(key) << bad;
    EXPECT_EQ(key.error().code, Code::Malformed) << bad;
  }
}

TEST(ParsePublicKey, RefusesEverythingElse) {
  const SigningKey key = test_key();
  const std::string pem = public_pem(key.public_key()).value();
  const std::string text = base::to_base64(key.public_key().bytes);
  EXPECT_EQ(parse_public_key(" " + text + "\n"), key.public_key());
  for (const std::string& bad :
       {std::string(), std::string("hello"), pem + pem, key.pem().value(), text + "=",
        text.substr(0, 43), text + text, base::to_hex(key.public_key().bytes),
        pem.substr(0, 30) + pem.substr(34)}) {
    const auto parsed = parse_public_key(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, Code::Malformed) << bad;
  }
}

// The `openssl` command in a directory of its own.
class OpensslCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("ron-ed25519-" +
                  std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
                  "-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void openssl(const std::string& arguments, int status = 0) {
    const Outcome outcome =
        run("cd " + testing::quoted(directory_.string()) + " && openssl " + arguments);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.output;
  }
  void write(const std::string& name, std::string_view text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) {
    std::ifstream file(directory_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path directory_;
};

TEST_F(OpensslCommand, ItsKeysAndSignaturesAreUnderstoodHere) {
  openssl("genpkey -algorithm ed25519 -out key.pem");
  openssl("pkey -in key.pem -pubout -out key.pub");
  const auto key = SigningKey::from_pem(read("key.pem"));
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(parse_public_key(read("key.pub")), key->public_key());
  EXPECT_EQ(key->pem().value(), read("key.pem"));
  EXPECT_EQ(public_pem(key->public_key()).value(), read("key.pub"));

  const std::string message = "ron-registry/approval/v1\nlog b3:00\n";
  write("message", message);
  openssl("pkeyutl -sign -rawin -inkey key.pem -in message -out signature");
  const std::string made = read("signature");
  Signature signature{};
  ASSERT_EQ(made.size(), signature.size());
  std::ranges::copy(as_bytes(made), signature.begin());
  EXPECT_TRUE(verifier_of(*key).verify(as_bytes(message), signature));
  EXPECT_EQ(key->sign(as_bytes(message)).value(), signature);
}

TEST_F(OpensslCommand, UnderstandsOurKeysAndSignatures) {
  const SigningKey key = test_key();
  const std::string message = "what we sign";
  write("key.pem", key.pem().value());
  write("key.pub", public_pem(key.public_key()).value());
  write("message", message);
  write("signature", base::as_text(key.sign(as_bytes(message)).value()));
  openssl("pkeyutl -verify -rawin -pubin -inkey key.pub -in message -sigfile signature");
  openssl("pkeyutl -verify -rawin -inkey key.pem -in message -sigfile signature");
  write("message", message + "!");
  openssl("pkeyutl -verify -rawin -pubin -inkey key.pub -in message -sigfile signature", 1);
}

TEST_F(OpensslCommand, ItsOtherKeysAreRefusedWithTheReason) {
  openssl("genpkey -algorithm ed25519 -aes256 -pass pass:x -out encrypted.pem");
  openssl("genpkey -algorithm x25519 -out x25519.pem");
  openssl("pkey -in x25519.pem -pubout -out x25519.pub");
  openssl("ecparam -name prime256v1 -genkey -noout -out ec.pem");
  const auto encrypted = SigningKey::from_pem(read("encrypted.pem"));
  ASSERT_FALSE(encrypted);
  EXPECT_NE(encrypted.error().message.find("encrypted"), std::string::npos);
  const auto x25519 = SigningKey::from_pem(read("x25519.pem"));
  ASSERT_FALSE(x25519);
  EXPECT_NE(x25519.error().message.find("not an Ed25519 key"), std::string::npos);
  const auto ec = SigningKey::from_pem(read("ec.pem"));
  ASSERT_FALSE(ec);
  EXPECT_NE(ec.error().message.find("not a PKCS#8"), std::string::npos);
  const auto x25519_public = parse_public_key(read("x25519.pub"));
  ASSERT_FALSE(x25519_public);
  EXPECT_NE(x25519_public.error().message.find("not an Ed25519 key"), std::string::npos);
}

}  // namespace
}  // namespace ron::auth
