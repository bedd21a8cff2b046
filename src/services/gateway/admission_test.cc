#include "services/gateway/admission.h"

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "auth/test_support.h"
#include "http/test_support.h"
#include "runtime/test_executor.h"
#include "services/gateway/test_request.h"
#include "services/gateway/wires.h"

namespace ron::gateway {
namespace {

using auth::testing::kNow;
using http::Response;
using http::test::reading;
using test::TestRequest;

class FixedClock final : public platform::Clock {
 public:
  [[nodiscard]] platform::TimePoint monotonic() const noexcept override { return {}; }
  [[nodiscard]] std::int64_t unix_ms() const noexcept override { return kNow * 1000; }
};

RouteConfig row(std::string_view prefix) {
  RouteConfig made;
  made.prefix = prefix;
  made.upstream = {"inproc:storage"};
  return made;
}

class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() {
    config.routes = {row("/o"), row("/shared"), row("/open"), row("/read"), row("/scoped")};
    config.routes[1].cors = {"https://app.example"};
    config.routes[2].is_open = true;
    config.routes[3].methods = {"GET"};
    config.routes[4].scope = "index:write";
  }

  // What a request is answered here; nothing: its upstream may be asked. What the stages found is
  // in `tenant` and `origin`.
  std::optional<Response> admit(TestRequest& request) {
    Routing routing = routing_of(config);
    routing.upstreams = upstreams;
    Visit visit{*request, routing, {}};
    std::optional<Response> answer = admission.admit(visit);
    tenant = visit.tenant ? visit.tenant->name : "";
    origin = visit.origin;
    return answer;
  }
  // The status, zero if it gets through.
  int ask(std::string_view method, std::string_view target, std::string_view lines = "") {
    TestRequest request(method, target, lines);
    const auto answer = admit(request);
    return answer ? answer->status : 0;
  }
  static std::string bearer(const std::vector<std::string>& caveats) {
    return "Authorization: Bearer " + auth::testing::token_with(caveats).text() + "\r\n";
  }
  std::int64_t refused(std::string_view reason) {
    return reading(meters, "gateway_refused_total", reason);
  }

  GatewayConfig config;
  std::vector<std::shared_ptr<Upstream>> upstreams;
  std::string tenant;
  std::string origin;
  FixedClock clock;
  runtime::Meters meters{"svc-gateway"};
  runtime::Topology topology{kWires, meters};
  kit::CapabilityGate gate{clock, std::make_shared<const auth::Keyring>(auth::testing::keyring()),
                           true};
  TenantTable tenants{{.default_quantum = 1, .quanta = {}, .rps = 3}};
  FairQueue queue{topology, tenants, {4, 4, 1, 1}};
  Health health;
  Admission admission{meters, gate, tenants, queue, health};
};

TEST_F(AdmissionTest, StagesStandInTheirOrder) {
  std::string names;
  for (const Admission::Stage& stage : Admission::kStages) names += std::string(stage.name) + " ";
  EXPECT_EQ(names, "host route method origin capability rate health ");
}

TEST_F(AdmissionTest, APathWithoutARouteIsNotFound) {
  EXPECT_EQ(ask("GET", "/nowhere"), 404);
  EXPECT_EQ(refused("route"), 1);
}

TEST_F(AdmissionTest, OnlyHostsItAnswersToGetIn) {
  EXPECT_EQ(ask("GET", "/o/x", "Host: any.example\r\n"), 0);
  config.hosts = {"ron.example", "*.sites.example"};
  EXPECT_EQ(ask("GET", "/o/x", "Host: RON.example:8080\r\n"), 0);
  EXPECT_EQ(ask("GET", "/o/x", "Host: a.sites.example\r\n"), 0);
  EXPECT_EQ(ask("GET", "/o/x", "Host: sites.example\r\n"), 400);
  EXPECT_EQ(ask("GET", "/o/x", "Host: rebound.evil\r\n"), 400);
  EXPECT_EQ(ask("GET", "/o/x", "Host: evilron.example\r\n"), 400);
  EXPECT_EQ(refused("host"), 3);
}

TEST_F(AdmissionTest, AMethodTheRouteHasNotIsRefusedWithThoseItHas) {
  TestRequest request("PUT", "/read/x", bearer({}));
  const auto answer = admit(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 405);
  EXPECT_NE(answer->lines.find("Allow: GET, HEAD\r\n"), std::string::npos);
  EXPECT_EQ(refused("method"), 1);
}

TEST_F(AdmissionTest, ReadingIsForEveryoneAndWritingNeedsACapability) {
  EXPECT_EQ(ask("GET", "/o/x"), 0);
  EXPECT_EQ(tenant, "192.0.2.1");
  EXPECT_EQ(ask("PUT", "/o/x"), 401);
  EXPECT_EQ(reading(meters, "rejected_total", "capability"), 1);
  EXPECT_EQ(ask("PUT", "/o/x", bearer({"tenant = acme"})), 0);
  EXPECT_EQ(tenant, "acme");
  EXPECT_EQ(ask("PUT", "/open/x"), 0) << "its upstream decides";
}

TEST_F(AdmissionTest, ARouteMayWantAScope) {
  EXPECT_EQ(ask("POST", "/scoped/x", bearer({"scope = storage:write"})), 403);
  EXPECT_EQ(ask("POST", "/scoped/x", bearer({"scope = index:write"})), 0);
}

TEST_F(AdmissionTest, AReaderIsChargedToItsTenant) {
  EXPECT_EQ(ask("GET", "/o/x", bearer({"tenant = acme"})), 0);
  EXPECT_EQ(tenant, "acme");
  // One that does not hold here is no name to be charged to.
  EXPECT_EQ(ask("GET", "/o/x", bearer({"tenant = acme", "path_prefix = /other"})), 0);
  EXPECT_EQ(tenant, "192.0.2.1");
  EXPECT_EQ(ask("GET", "/o/x", "Authorization: Basic eDp5\r\n"), 0);
  EXPECT_EQ(tenant, "192.0.2.1");
}

TEST_F(AdmissionTest, OneTenantsFloodIsItsOwn) {
  const std::string acme = bearer({"tenant = acme"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("GET", "/o/x", acme), 0);
  TestRequest request("GET", "/o/x", acme);
  const auto answer = admit(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 429);
  const std::string body(base::as_text(answer->bytes()));
  for (const char* part : {R"("code":"RateLimited")", R"("tenant":"acme")", R"("share":)",
                           R"("quantum":"1")", R"("queue_depth":"0")", R"("retry_after":"1")"}) {
    EXPECT_NE(body.find(part), std::string::npos) << part << " in " << body;
  }
  EXPECT_NE(answer->lines.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_EQ(ask("GET", "/o/x", bearer({"tenant = other"})), 0);
  EXPECT_EQ(refused("rate"), 1);
}

TEST_F(AdmissionTest, ANameIsNoAddress) {
  const std::string impostor = bearer({"tenant = 192.0.2.1"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("GET", "/o/x", impostor), 0);
  EXPECT_EQ(tenant, "name:192.0.2.1");
  EXPECT_EQ(ask("GET", "/o/x", impostor), 429);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("GET", "/o/x"), 0) << "the client at that address";
  EXPECT_EQ(tenant, "192.0.2.1");
}

// A caveat that does not hold is worth no rate of its own.
TEST_F(AdmissionTest, SelfMadeTenantsShareTheRateOfTheirAddress) {
  int let_through = 0;
  for (int i = 0; i < 20; ++i) {
    const auto token =
        auth::testing::token_with({"tenant = t" + std::to_string(i)}, auth::Tenancy::nobody());
    let_through += ask("GET", "/o/x", "Authorization: Bearer " + token.text() + "\r\n") == 0;
  }
  EXPECT_EQ(let_through, 3);
  EXPECT_EQ(tenant, "192.0.2.1");
}

TEST_F(AdmissionTest, WritesAreShedAndReadsGoOn) {
  Vitals vitals;
  vitals.workers = 1;
  vitals.workers_wanted = 2;
  vitals.scheduler = true;
  vitals.waiting_most = 4;
  health.note(vitals);
  EXPECT_EQ(ask("GET", "/o/x"), 0);
  TestRequest request("PUT", "/o/x", bearer({}));
  const auto answer = admit(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->error_code, "Degraded");
  EXPECT_EQ(refused("degraded"), 1);
}

TEST_F(AdmissionTest, PagesOfOtherOriginsAreDeniedByDefault) {
  constexpr std::string_view kPreflight =
      "Origin: https://app.example\r\nAccess-Control-Request-Method: PUT\r\n";
  EXPECT_EQ(ask("OPTIONS", "/o/x", kPreflight), 403);
  EXPECT_EQ(refused("origin"), 1);
  EXPECT_EQ(ask("GET", "/o/x", "Origin: https://app.example\r\n"), 0);
  EXPECT_EQ(origin, "") << "it is answered, and the browser withholds it";
}

TEST_F(AdmissionTest, ARouteMayAllowAnOrigin) {
  TestRequest request("OPTIONS", "/shared/x",
                      "Origin: https://app.example\r\nAccess-Control-Request-Method: PUT\r\n"
                      "Access-Control-Request-Headers: authorization\r\n");
  const auto answer = admit(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 204);
  EXPECT_EQ(origin, "https://app.example") << "said with every answer";
  EXPECT_NE(answer->lines.find("Access-Control-Allow-Headers: authorization\r\n"),
            std::string::npos);
  EXPECT_EQ(answer->lines.find("Access-Control-Allow-Origin"), std::string::npos) << "not twice";
  EXPECT_EQ(ask("GET", "/shared/x", "Origin: https://app.example\r\n"), 0);
  EXPECT_EQ(origin, "https://app.example");
  EXPECT_EQ(ask("GET", "/shared/x", "Origin: https://evil.example\r\n"), 0);
  EXPECT_EQ(origin, "");
}

// A service of the process that has rules of its own.
class JudgingUpstream final : public Upstream {
 public:
  JudgingUpstream() : Upstream("edge", 0) {}
  platform::Task<Response> forward(Passage*) override { co_return Response(200); }
  [[nodiscard]] bool is_usable() const override { return true; }
  [[nodiscard]] bool judges_origins() const noexcept override { return true; }
};

TEST_F(AdmissionTest, AServiceMayJudgeOriginsItself) {
  upstreams = {std::make_shared<JudgingUpstream>()};
  constexpr std::string_view kPreflight =
      "Origin: https://app.example\r\nAccess-Control-Request-Method: GET\r\n";
  EXPECT_EQ(ask("OPTIONS", "/o/x", kPreflight), 0) << "it is handed on";
  EXPECT_EQ(origin, "");
  EXPECT_EQ(ask("OPTIONS", "/shared/x", kPreflight), 204)
      << "where the route says something, it counts";
}

}  // namespace
}  // namespace ron::gateway
