#include "cli/token.h"

#include "auth/capability.h"
#include "cli/caveat_flags.h"
#include "cli/key.h"
#include "cli/test_support.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using testing::kNow;
namespace files = platform::posix;

class Tokens : public testing::InScratch {
 protected:
  Tokens() {
    const KeyPlan plan{.file = path("one.key")};
    EXPECT_TRUE(generate_key(plan, random_, kNow));
  }
  auth::Keyring keyring() { return load_keyring({path("one.key"), ""}).value(); }
  auth::Macaroon minted(const CaveatFlags& flags) {
    return mint(keyring(), caveats_of(flags, kNow).value(), random_, kNow).value();
  }
};

TEST_F(Tokens, AreGoodForTheirKeys) {
  const auth::Macaroon token = minted({.scope = "storage:write", .expires = "1h"});
  const auto verified = auth::verify_token(keyring(), token.text());
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->grant.expires_unix_s, kNow + 3600);
}

TEST_F(Tokens, AreEachTheirOwn) {
  const CaveatFlags flags{.scope = "storage:write"};
  EXPECT_NE(minted(flags).identifier(), minted(flags).identifier());
}

TEST_F(Tokens, AreReadFromFilesWithBlanksAround) {
  const auth::Macaroon token = minted({.scope = "storage:write"});
  ASSERT_TRUE(files::write_private_file(path("t"), "\n " + token.text() + " \r\n"));
  EXPECT_EQ(read_token(path("t")), token);
}

TEST_F(Tokens, InPlaceOfAFileAreRefusedAndNotRepeated) {
  const std::string text = minted({.scope = "storage:write"}).text();
  const std::string message = read_token(text).error().message;
  EXPECT_EQ(message.find(text), std::string::npos);
  EXPECT_NE(message.find("others can see arguments"), std::string::npos);
}

TEST_F(Tokens, ThatAreNoneAreRefused) {
  ASSERT_TRUE(files::write_private_file(path("t"), "hunter2\n"));
  const std::string message = read_token(path("t")).error().message;
  EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
  EXPECT_FALSE(read_token(path("none")));
}

TEST_F(Tokens, DescriptionsHoldEverythingButTheSecret) {
  const auth::Macaroon token = minted({.scope = "storage:write", .tenant = "acme"});
  const std::string said = describe(token, kNow, nullptr);
  EXPECT_EQ(said.find(token.text()), std::string::npos);
  const std::string key = keyring().active().id;
  EXPECT_TRUE(said.starts_with("key: " + key + "\ntoken: ")) << said;
  EXPECT_NE(said.find("caveat: scope = storage:write\ncaveat: tenant = acme\n"), std::string::npos);
  EXPECT_TRUE(said.ends_with("fingerprint: " + fingerprint(token) + "\nexpires: never\n"));
}

TEST_F(Tokens, TellForWhichTenantTheyAct) {
  const auto tenant = [](const auth::Macaroon& token) {
    const std::string said = describe(token, kNow, nullptr);
    const std::size_t at = said.find("\ntenant: ") + 9;
    return said.substr(at, said.find('\n', at) - at);
  };
  EXPECT_EQ(tenant(minted({.scope = "storage:write"})), "none");
  EXPECT_EQ(tenant(minted({.scope = "storage:write", .tenant = "acme"})), "acme");
  const auto caveats = caveats_of({.scope = "storage:write"}, kNow).value();
  const auth::Macaroon any =
      mint(keyring(), caveats, random_, kNow, auth::TenantChoice::Any).value();
  EXPECT_EQ(tenant(any), "any (its holder may name one)");
  const auto acme = caveats_of({.tenant = "acme"}, kNow).value();
  EXPECT_EQ(tenant(auth::attenuate_token(any, acme).value()), "acme");
}

TEST_F(Tokens, TellWhenTheyEnd) {
  const auto state = [this](const char* expires, std::int64_t now) {
    const auth::Macaroon token =
        auth::attenuate_token(minted({.scope = "storage:write", .expires = expires}),
                              caveats_of({.expires = "100d"}, kNow).value())
            .value();
    const std::string said = describe(token, now, nullptr);
    return said.substr(said.rfind("expires: ") + 9);
  };
  EXPECT_EQ(state("26h", kNow), "in 1d2h\n") << "the earliest end counts";
  EXPECT_EQ(state("3661s", kNow), "in 1h1m\n");
  EXPECT_EQ(state("10s", kNow + 9), "in 1s\n");
  EXPECT_EQ(state("10s", kNow + 10), "expired 0s ago\n");
  EXPECT_EQ(state("10s", kNow + 80), "expired 1m10s ago\n");
}

TEST_F(Tokens, AreCheckedAgainstKeysOnRequest) {
  const auth::Macaroon token = minted({.scope = "storage:write"});
  const auth::Keyring ours = keyring();
  EXPECT_TRUE(describe(token, kNow, &ours).ends_with("signature: good\n"));
  const KeyPlan plan{.file = path("other.key")};
  ASSERT_TRUE(generate_key(plan, random_, kNow));
  const auth::Keyring others = load_keyring({path("other.key"), ""}).value();
  EXPECT_TRUE(
      describe(token, kNow, &others).ends_with("signature: the capability's key is not known\n"));
}

}  // namespace
}  // namespace ron::cli
