#include "auth/digest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/encoding.h"

namespace ron::auth {
namespace {

using base::as_bytes;

TEST(Digest, Sha256AgreesWithTheStandard) {
  EXPECT_EQ(base::to_hex(sha256(as_bytes("abc")).value()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  EXPECT_EQ(base::to_hex(sha256(base::ByteView()).value()), nothing);
  EXPECT_EQ(base::to_hex(sha256(std::initializer_list<base::ByteView>{}).value()), nothing);
}

TEST(Digest, Sha256OfPartsIsThatOfTheWhole) {
  EXPECT_TRUE(rc::check("parts", [](const std::string& a, const std::string& b) {
    RC_ASSERT(sha256({as_bytes(a), as_bytes(b)}).value() == sha256(as_bytes(a + b)).value());
  }));
}

}  // namespace
}  // namespace ron::auth
