#include "services/kit/capability_gate.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "auth/test_support.h"
#include "http/head.h"

namespace ron::kit {
namespace {

using auth::Access;
using auth::Scope;
using auth::Tenancy;
using auth::testing::kNow;
using base::Code;

class FixedClock final : public platform::Clock {
 public:
  [[nodiscard]] platform::TimePoint monotonic() const noexcept override { return {}; }
  [[nodiscard]] std::int64_t unix_ms() const noexcept override { return kNow * 1000; }
};

class CapabilityGateTest : public testing::Test {
 protected:
  // What the gate says to a request with these caveats in its token; none: without a token.
  base::Result<void> ask(Access access, std::optional<std::vector<std::string>> caveats,
                         std::string_view method = "PUT", std::string_view path = "/o/x") {
    std::string header;
    if (caveats) header = bearer(*caveats);
    return ask_with(access, header, method, path);
  }
  base::Result<void> ask_with(Access access, std::string_view authorization,
                              std::string_view method = "PUT", std::string_view path = "/o/x") {
    text_ = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n";
    if (!authorization.empty()) text_ += "Authorization: " + std::string(authorization) + "\r\n";
    text_ += "Content-Length: 100\r\n\r\n";
    EXPECT_EQ(http::parse_head(text_, head_).progress, http::Progress::Done);
    request_ = http::Request();
    request_.head = &head_;
    request_.path = path;
    return gate_.check(request_, access);
  }
  static std::string bearer(const std::vector<std::string>& caveats) {
    return "Bearer " + auth::testing::token_with(caveats).text();
  }
  static std::optional<Code> code(const base::Result<void>& result) {
    return result ? std::nullopt : std::optional(result.error().code);
  }

  FixedClock clock_;
  CapabilityGate gate_{clock_, std::make_shared<const auth::Keyring>(auth::testing::keyring()),
                       true};
  std::string text_;
  http::RequestHead head_;
  http::Request request_;
};

TEST_F(CapabilityGateTest, AnOpenRouteAsksNobody) {
  EXPECT_TRUE(ask(Access::open(), {}));
  gate_.apply(gate_.keyring(), false);
  EXPECT_TRUE(ask(Access::open(), {}));
  EXPECT_TRUE(ask_with(Access::open(), "Bearer nonsense"));
}

TEST_F(CapabilityGateTest, ReadsArePublicUntilTheyAreNot) {
  EXPECT_TRUE(ask(Access::read(), {}, "GET"));
  gate_.apply(gate_.keyring(), false);
  EXPECT_EQ(code(ask(Access::read(), {}, "GET")), Code::Unauthorized);
  EXPECT_TRUE(ask(Access::read(), std::vector<std::string>{}, "GET"));
  EXPECT_TRUE(ask(Access::read(), {{"scope = index:write"}}, "GET"));  // any good one will do
}

TEST_F(CapabilityGateTest, AScopedRouteNeedsThatScope) {
  const Access write = Access::needs(Scope::kStorageWrite);
  EXPECT_EQ(code(ask(write, {})), Code::Unauthorized);
  EXPECT_TRUE(ask(write, {{"scope = storage:write"}}));
  EXPECT_EQ(code(ask(write, {{"scope = index:write"}})), Code::Forbidden);
  EXPECT_EQ(code(ask(write, {{"scope = storage:write", "scope = index:write"}})), Code::Forbidden);
}

TEST_F(CapabilityGateTest, EveryCaveatHolds) {
  const Access write = Access::needs(Scope::kStorageWrite);
  EXPECT_EQ(code(ask(write, {{"path_prefix = /uploads"}})), Code::Forbidden);
  EXPECT_EQ(code(ask(write, {{"method = GET"}})), Code::Forbidden);
  EXPECT_EQ(code(ask(write, {{"max_bytes = 99"}})), Code::Forbidden);
  EXPECT_EQ(code(ask(write, {{"expires = 2027-01-15T07:59:59Z"}})), Code::Unauthorized);
  EXPECT_EQ(code(ask(write, {{"tenant = a", "tenant = b"}})), Code::Forbidden);
  EXPECT_TRUE(ask(write, {{"path_prefix = /o", "method = PUT", "max_bytes = 100"}}));
  EXPECT_EQ(request_.grant_max_bytes, 100U);
}

TEST_F(CapabilityGateTest, WhatIsNotUnderstoodRefuses) {
  const Access write = Access::needs(Scope::kStorageWrite);
  EXPECT_FALSE(ask(write, {{"colour = blue"}}));
  EXPECT_FALSE(ask(write, {{"scope = future:scope"}}));
  for (const std::string_view header :
       {"Bearer", "Bearer ", "Bearer nonsense", "Basic dXNlcjpwYXNz", "bearer\tx"}) {
    EXPECT_EQ(code(ask_with(write, header)), Code::Unauthorized) << header;
  }
}

TEST_F(CapabilityGateTest, AForeignKeyOpensNothing) {
  const auto other = auth::Keyring::make(auth::testing::root_key("k1", 2), {}, {}).value();
  gate_.apply(std::make_shared<const auth::Keyring>(other), true);
  EXPECT_EQ(code(ask(Access::needs(Scope::kStorageWrite), std::vector<std::string>{})),
            Code::Unauthorized);
}

TEST_F(CapabilityGateTest, ARevokedKeyIsRevokedAtOnce) {
  const Access write = Access::needs(Scope::kStorageWrite);
  EXPECT_TRUE(ask(write, std::vector<std::string>{}));
  auth::DenyList denied;
  denied.key_ids.insert("k1");
  gate_.apply(std::make_shared<const auth::Keyring>(auth::testing::keyring(denied)), true);
  EXPECT_FALSE(ask(write, std::vector<std::string>{}));
}

TEST_F(CapabilityGateTest, AFullScopeLetsItsHolderDoMore) {
  const Access removal = Access::needs(Scope::kStorageDelete).or_fully(Scope::kStorageAdmin);
  EXPECT_TRUE(ask(removal, {{"scope = storage:delete", "tenant = acme"}}));
  EXPECT_FALSE(request_.grant_full);
  EXPECT_EQ(request_.tenant, "acme");
  EXPECT_TRUE(ask(removal, {{"scope = storage:admin"}}));
  EXPECT_TRUE(request_.grant_full);
  EXPECT_EQ(code(ask(removal, {{"scope = storage:write"}})), Code::Forbidden);
  EXPECT_FALSE(request_.grant_full);
}

TEST_F(CapabilityGateTest, WhoItIsIsKnownAlsoWhenItIsNotEnough) {
  EXPECT_FALSE(
      ask(Access::needs(Scope::kStorageAdmin), {{"scope = index:write", "tenant = acme"}}));
  EXPECT_EQ(request_.tenant, "acme");
  EXPECT_EQ(request_.token.size(), 8U);
}

TEST_F(CapabilityGateTest, ATenantAddedLaterOpensNothing) {
  const Access removal = Access::needs(Scope::kStorageDelete).or_fully(Scope::kStorageAdmin);
  const auto ask_as = [&](const Tenancy& tenancy) {
    const auto token = auth::testing::token_with({"tenant = acme"}, tenancy);
    return code(ask_with(removal, "Bearer " + token.text(), "DELETE"));
  };
  EXPECT_EQ(ask_as(Tenancy::nobody()), Code::Forbidden);
  EXPECT_EQ(request_.tenant, "");
  EXPECT_EQ(ask_as(Tenancy::unsaid()), Code::Forbidden);
  EXPECT_EQ(ask_as(Tenancy::named("other")), Code::Forbidden);
  EXPECT_EQ(ask_as(Tenancy::named("acme")), std::nullopt);
  EXPECT_EQ(request_.tenant, "acme");
  EXPECT_EQ(ask_as(Tenancy::any()), std::nullopt);
  EXPECT_EQ(request_.tenant, "acme");
}

// What the gate says of a request, and what a service may then do for its caller.
struct Decision {
  bool is_through = false;
  bool is_known = false;  // who it is: a genuine token that holds here
  bool is_full = false;
  std::uint64_t most_bytes = 0;
  std::string tenant;
};

class GateProperty : public CapabilityGateTest {
 protected:
  struct Wanted {
    Access access = Access::open();
    std::string method;
    std::string path;
  };
  static std::vector<Wanted> all_wanted() {
    std::vector<Wanted> made;
    for (const Access& access :
         {Access::open(), Access::read(), Access::any(), Access::needs(Scope::kStorageWrite),
          Access::needs(Scope::kIndexWrite).or_fully(Scope::kStorageDelete),
          Access::needs(Scope::kStorageDelete).or_fully(Scope::kStorageWrite)}) {
      for (const char* method : {"GET", "PUT"}) {
        for (const char* path : {"/o", "/o/a/b", "/uploads"})
          made.push_back({access, method, path});
      }
    }
    return made;
  }
  // As a service decides: the gate first, then who it is if nothing had to be asked.
  Decision decide(const Wanted& wanted, const std::vector<std::string>& caveats,
                  const Tenancy& tenancy) {
    const std::string text = auth::testing::token_with(caveats, tenancy).text();
    Decision out;
    out.is_through =
        ask_with(wanted.access, "Bearer " + text, wanted.method, wanted.path).has_value();
    if (!out.is_through) return out;
    if (request_.token.empty()) gate_.identify(request_);
    out.is_known = !request_.token.empty();
    out.is_full = request_.grant_full;
    out.most_bytes = request_.grant_max_bytes;
    out.tenant = request_.tenant;
    return out;
  }
  // Why the decision with one more caveat is wider; empty if it is not. Where a request needs no
  // token, one that does not hold is as none at all.
  static std::string widening(const Decision& wide, const Decision& narrow, bool may_name_any) {
    if (!narrow.is_through) return "";
    if (!wide.is_through) return "it got through";
    if (!narrow.is_known) return "";
    if (!wide.is_known) return "it became known";
    if (narrow.is_full && !wide.is_full) return "it got the full scope";
    if (narrow.most_bytes > wide.most_bytes) return "it may send more";
    const bool same = narrow.tenant == wide.tenant;
    if (!same && !(wide.tenant.empty() && may_name_any)) return "it acts for another tenant";
    return "";
  }
};

TEST_F(GateProperty, ACaveatMoreNeverWidensADecision) {
  const std::vector<Wanted> all = all_wanted();
  EXPECT_TRUE(rc::check("a caveat more never widens a decision", [&] {
    gate_.apply(gate_.keyring(), *rc::gen::arbitrary<bool>());
    auto caveats = *auth::testing::caveat_texts();
    const auto tenancy = *auth::testing::tenancy();
    auto longer = caveats;
    longer.push_back(*auth::testing::caveat_text());
    const bool may_name_any = tenancy == Tenancy::any();
    bool is_let_through = false;
    for (const Wanted& wanted : all) {
      const Decision wide = decide(wanted, caveats, tenancy);
      const Decision narrow = decide(wanted, longer, tenancy);
      const std::string what = widening(wide, narrow, may_name_any);
      if (!what.empty()) {
        RC_FAIL(what + " with " + longer.back() + ": " + wanted.method + " " + wanted.path);
      }
      is_let_through |= narrow.is_known;
    }
    RC_CLASSIFY(is_let_through);
  }));
}

TEST(DenyListText, NamesWhatIsWrong) {
  const auto list = parse_deny_list({"token:00", "key:k1", "fingerprint:12345678"});
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->token_ids.contains("00") && list->key_ids.contains("k1") &&
              list->fingerprints.contains("12345678"));
  const auto wrong = parse_deny_list({"key:k1", "user:me"});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("user:me"), std::string::npos);
  EXPECT_FALSE(parse_deny_list({"nothing"}));
}

TEST_F(CapabilityGateTest, AnyCapabilityIsEnoughWhereNoScopeIsAskedFor) {
  EXPECT_EQ(code(ask(Access::any(), std::nullopt)), Code::Unauthorized);
  EXPECT_TRUE(ask(Access::any(), std::vector<std::string>{"scope = index:write"}));
  EXPECT_EQ(code(ask(Access::any(), std::vector<std::string>{"method = GET"})), Code::Forbidden);
}

TEST_F(CapabilityGateTest, KnowsWhoShowsACapabilityUnasked) {
  EXPECT_TRUE(ask(Access::read(), std::vector<std::string>{"tenant = acme"}, "GET"));
  EXPECT_EQ(request_.tenant, "") << "nobody had to look";
  gate_.identify(request_);
  EXPECT_EQ(request_.tenant, "acme");
  EXPECT_TRUE(
      ask(Access::read(), std::vector<std::string>{"tenant = acme", "path_prefix = /x"}, "GET"));
  gate_.identify(request_);
  EXPECT_EQ(request_.tenant, "") << "it does not hold here";
  EXPECT_TRUE(ask_with(Access::read(), "Bearer forged", "GET"));
  gate_.identify(request_);
  EXPECT_EQ(request_.tenant, "");
}

}  // namespace
}  // namespace ron::kit
