// Ingress: admission of connections and requests, the same for every service.
//
// What a request passes on its way to its handler, in this order:
//   1. connection caps, total and per address: admit_connection()
//   2. head limits: in the parser (431, 414)
//   3. and on: kStages below, with the reason beside each
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "http/decode_guard.h"
#include "http/request.h"
#include "http/router.h"
#include "http/settings.h"
#include "platform/address_text.h"
#include "platform/clock.h"
#include "runtime/permit.h"
#include "runtime/shares.h"
#include "runtime/token_bucket.h"

namespace ron::http {

// Stage 8, given by the service: fills the request's tenant and grant, or says 401/403.
using Authorize = std::function<base::Result<void>(Request&, const Route&)>;

// Open connections of each address; an IPv6 network is one.
using AddressCap = runtime::Shares<platform::IpAddress, platform::IpAddressHash>;

// Why requests and connections were turned away, by stage.
struct RejectionMeters {
  explicit RejectionMeters(runtime::Meters& meters);
  runtime::Counter& connections;
  runtime::Counter& peer;  // a user the Unix socket is not for
  runtime::Counter& tls;   // no agreement
  runtime::Counter& connections_per_ip;
  runtime::Counter& head;
  runtime::Counter& body_cap;
  runtime::Counter& decoded_cap;
  runtime::Counter& decoded_ratio;
  runtime::Counter& rate;
  runtime::Counter& inflight;
  runtime::Counter& capability;
};

// A request between its route and its handler: what the stages look at and leave behind.
struct Passage {
  Request& request;
  const Route& route;
  RouteMeters& meters;
  const ServerSettings& settings;
  const platform::Clock& clock;
  platform::TimePoint now;
  bool within_process = false;  // another service hands it on and has charged its client already

  Coding coding = Coding::Identity;
  runtime::Limit::Permit permit{};  // counts the request as in flight until it is dropped
};

// Shared by all cores of a server.
class Ingress {
 public:
  Ingress(runtime::Meters& meters, const ServerSettings& settings, Authorize authorize);

  // Takes effect for the next connection and request. Any thread.
  void apply(const ServerSettings& settings, platform::TimePoint now) noexcept;

  struct Admission {
    runtime::Limit::Permit connection;
    AddressCap::Place address;
  };
  // Stage 1. An error is what the client is told before the connection is closed.
  base::Result<Admission> admit_connection(const platform::Endpoint& peer,
                                           const ServerSettings& settings);

  // Every stage of kStages in its order. The first that refuses is counted and says what the client
  // is told.
  base::Result<void> admit(Passage& passage);

  struct Stage {
    std::string_view name;
    base::Result<void> (Ingress::*check)(Passage&);
    // Health, readiness, version and metrics: an overloaded server still says so.
    bool for_light_routes;
    // What the service at the front of the process has done is not done twice.
    bool within_process;
  };
  // A constant, so that the order below is the order there is.
  static const std::array<Stage, 6> kStages;

  RejectionMeters rejections;

 private:
  base::Result<void> check_length(Passage& passage);
  base::Result<void> check_coding(Passage& passage);
  base::Result<void> check_rate(Passage& passage);
  base::Result<void> take_place(Passage& passage);
  base::Result<void> set_deadline(Passage& passage);
  base::Result<void> check_capability(Passage& passage);

  runtime::Limit connections_;
  runtime::Limit inflight_;
  AddressCap addresses_;
  runtime::TokenBucket rate_;
  Authorize authorize_;
  runtime::GaugeRegistration open_gauge_;
  runtime::GaugeRegistration inflight_gauge_;
};

}  // namespace ron::http
