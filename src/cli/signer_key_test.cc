#include "cli/signer_key.h"

#include <gmock/gmock.h>

#include "cli/test_support.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using base::Code;
using ::testing::HasSubstr;
using ::testing::Not;

class SignerKey : public testing::InScratch {};

TEST_F(SignerKey, IsTwoFilesThatBelongTogether) {
  const auto said = generate_signer("alice", path("alice.pem"), random_);
  ASSERT_TRUE(said) << said.error().message;
  const auto secret = read_signing_key(path("alice.pem"));
  const auto signer = read_signer(path("alice.pub"));
  ASSERT_TRUE(secret && signer);
  EXPECT_EQ(secret->public_key(), signer->key);
  EXPECT_EQ(signer->name, "alice");
  EXPECT_THAT(*said, HasSubstr("signer " + signer->id + "  alice\n"));
  EXPECT_EQ(platform::posix::file_mode(path("alice.pem")), 0600U);
}

TEST_F(SignerKey, PublicFileStandsBesideTheSecretOne) {
  EXPECT_EQ(public_file_of("keys/alice.pem"), "keys/alice.pub");
  EXPECT_EQ(public_file_of("alice"), "alice.pub");
}

TEST_F(SignerKey, ReplacesNoFile) {
  ASSERT_TRUE(generate_signer("alice", path("alice.pem"), random_));
  EXPECT_EQ(generate_signer("alice", path("alice.pem"), random_).error().code,
            Code::PreconditionFailed);
  platform::posix::remove_file(path("alice.pem"));
  EXPECT_EQ(generate_signer("alice", path("alice.pem"), random_).error().code,
            Code::PreconditionFailed);
  EXPECT_FALSE(platform::posix::file_mode(path("alice.pem")));
}

TEST_F(SignerKey, NamesAreText) {
  EXPECT_EQ(generate_signer("a\nb", path("x.pem"), random_).error().code, Code::Malformed);
  EXPECT_EQ(generate_signer(std::string(65, 'a'), path("x.pem"), random_).error().code,
            Code::Malformed);
}

TEST_F(SignerKey, ShownWithoutItsSecret) {
  ASSERT_TRUE(generate_signer("alice", path("alice.pem"), random_));
  const auto text = platform::posix::read_small_file(path("alice.pem"), 4096);
  ASSERT_TRUE(text);
  const std::string secret = text->substr(text->find('\n') + 1, 60);
  const auto shown = show_signer_key(path("alice.pem"));
  ASSERT_TRUE(shown);
  EXPECT_THAT(*shown, Not(HasSubstr(secret)));
  EXPECT_TRUE(is_signer_file(path("alice.pub")));
  EXPECT_FALSE(is_signer_file(path("nothing")));
}

TEST_F(SignerKey, ASecretOneInPlaceOfAPublicOneIsRefusedWithTheRightName) {
  ASSERT_TRUE(generate_signer("alice", path("alice.pem"), random_));
  EXPECT_THAT(read_signer(path("alice.pem")).error().message, HasSubstr(path("alice.pub")));
  EXPECT_EQ(read_signing_key(path("alice.pub")).error().code, Code::Malformed);
}

}  // namespace
}  // namespace ron::cli
