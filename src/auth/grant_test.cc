#include "auth/grant.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace ron::auth {
namespace {

using base::Code;

Grant grant(std::initializer_list<const char*> caveats) {
  Grant result;
  for (const char* text : caveats) {
    result.narrow(parse_caveat(text, UnknownScopes::kIgnore).value());
  }
  return result;
}

Request write_request() {
  return Request{.scope = Scope::kStorageWrite,
                 .method = "PUT",
                 .path = "/o/x",
                 .body_bytes = 100,
                 .now_unix_s = 1'800'000'000};
}

// The code of the refusal; none when covered.
std::optional<Code> refusal(const Grant& grant, const Request& request) {
  const auto covered = grant.covers(request);
  if (covered) return std::nullopt;
  return covered.error().code;
}

TEST(Grant, WithoutCaveatsCoversEverything) {
  EXPECT_EQ(refusal(Grant{}, write_request()), std::nullopt);
  for (unsigned i = 0; i < kScopeCount; ++i) EXPECT_TRUE(Grant{}.scopes.has(static_cast<Scope>(i)));
}

TEST(Grant, ScopesIntersect) {
  EXPECT_EQ(refusal(grant({"scope = storage:write"}), write_request()), std::nullopt);
  EXPECT_EQ(refusal(grant({"scope = index:write"}), write_request()), Code::Forbidden);
  const Grant both =
      grant({"scope = storage:write,index:write", "scope = storage:write,edge:admin"});
  EXPECT_EQ(print(both.scopes), "storage:write");
  EXPECT_EQ(refusal(grant({"scope = storage:write", "scope = index:write"}), write_request()),
            Code::Forbidden);
}

TEST(Grant, AnUnknownScopeGrantsNothing) {
  EXPECT_EQ(refusal(grant({"scope = future:scope"}), write_request()), Code::Forbidden);
}

TEST(Grant, ARequestWithoutScopeStillMeetsTheOtherCaveats) {
  Request read = write_request();
  read.scope.reset();
  EXPECT_EQ(refusal(grant({"scope = index:write"}), read), std::nullopt);
  EXPECT_EQ(refusal(grant({"path_prefix = /uploads"}), read), Code::Forbidden);
}

TEST(Grant, PathPrefixEndsOnASegment) {
  Request request = write_request();
  const Grant below = grant({"path_prefix = /o"});
  for (const char* path : {"/o", "/o/", "/o/x", "/o/x/y"}) {
    request.path = path;
    EXPECT_EQ(refusal(below, request), std::nullopt) << path;
  }
  for (const char* path :
       {"/ox", "/", "", "o", "/O", "//o", "/o/../x", "/o/%2e%2e/x", "/o\\..\\x", "/p/o"}) {
    request.path = path;
    EXPECT_EQ(refusal(below, request), Code::Forbidden) << path;
  }
}

TEST(Grant, PathPrefixWithSlashDoesNotCoverTheBarePath) {
  Request request = write_request();
  EXPECT_EQ(refusal(grant({"path_prefix = /o/"}), request), std::nullopt);
  request.path = "/o";
  EXPECT_EQ(refusal(grant({"path_prefix = /o/"}), request), Code::Forbidden);
  EXPECT_EQ(refusal(grant({"path_prefix = /"}), request), std::nullopt);
}

TEST(Grant, EveryPathPrefixMustCover) {
  EXPECT_EQ(refusal(grant({"path_prefix = /o", "path_prefix = /o/x"}), write_request()),
            std::nullopt);
  EXPECT_EQ(refusal(grant({"path_prefix = /o", "path_prefix = /uploads"}), write_request()),
            Code::Forbidden);
}

TEST(Grant, MethodsIntersectAndCompareExactly) {
  Request request = write_request();
  EXPECT_EQ(refusal(grant({"method = GET,PUT", "method = PUT,POST"}), request), std::nullopt);
  EXPECT_EQ(refusal(grant({"method = PUT", "method = GET"}), request), Code::Forbidden);
  request.method = "HEAD";
  EXPECT_EQ(refusal(grant({"method = GET"}), request), Code::Forbidden);
  request.method = "put";
  EXPECT_EQ(refusal(grant({"method = PUT"}), request), Code::Forbidden);
}

TEST(Grant, TheEarliestExpiryCountsAndIsUnauthorized) {
  const Grant early = grant({"expires = 2030-01-01T00:00:00Z", "expires = 2027-01-15T08:00:00Z",
                             "expires = 2029-01-01T00:00:00Z"});
  Request request = write_request();
  request.now_unix_s = 1'799'999'999;
  EXPECT_EQ(refusal(early, request), std::nullopt);
  request.now_unix_s = 1'800'000'000;
  EXPECT_EQ(refusal(early, request), Code::Unauthorized);
}

TEST(Grant, ExpiryIsReportedBeforeAnythingElse) {
  EXPECT_EQ(
      refusal(grant({"scope = index:write", "expires = 2027-01-15T08:00:00Z"}), write_request()),
      Code::Unauthorized);
}

TEST(Grant, TheSmallestMaxBytesCounts) {
  Request request = write_request();
  EXPECT_EQ(refusal(grant({"max_bytes = 100", "max_bytes = 200"}), request), std::nullopt);
  request.body_bytes = 101;
  EXPECT_EQ(refusal(grant({"max_bytes = 100", "max_bytes = 200"}), request), Code::Forbidden);
  request.body_bytes.reset();
  EXPECT_EQ(refusal(grant({"max_bytes = 0"}), request), std::nullopt);
}

TEST(Grant, TheTenantIsFixedWhenTheTokenIsMinted) {
  const auto with_acme = [](Tenancy tenancy) {
    Grant grant = Grant::minted(std::move(tenancy));
    grant.narrow(TenantCaveat{"acme"});
    return grant;
  };
  EXPECT_EQ(Grant::minted(Tenancy::named("acme")).tenant, "acme");
  EXPECT_EQ(with_acme(Tenancy::named("acme")).tenant, "acme");
  EXPECT_EQ(with_acme(Tenancy::any()).tenant, "acme");
  EXPECT_FALSE(with_acme(Tenancy::any()).is_any_tenants()) << "from then on it is acme's";
  for (const Tenancy& tenancy : {Tenancy::unsaid(), Tenancy::nobody(), Tenancy::named("other")}) {
    EXPECT_EQ(refusal(Grant::minted(tenancy), write_request()), std::nullopt);
    EXPECT_EQ(with_acme(tenancy).tenant, std::nullopt) << print(tenancy);
    EXPECT_EQ(refusal(with_acme(tenancy), write_request()), Code::Forbidden) << print(tenancy);
  }
}

TEST(Grant, DifferentTenantsLeaveNothing) {
  EXPECT_EQ(grant({"tenant = acme", "tenant = acme"}).tenant, "acme");
  EXPECT_EQ(refusal(grant({"tenant = acme", "tenant = acme"}), write_request()), std::nullopt);
  const Grant conflict = grant({"tenant = acme", "tenant = other", "tenant = acme"});
  EXPECT_EQ(conflict.tenant, std::nullopt);
  EXPECT_EQ(refusal(conflict, write_request()), Code::Forbidden);
}

}  // namespace
}  // namespace ron::auth
