// Ingress: admission of connections and requests, the same for every service.
//
// The stages, in this order and for these reasons:
//   1. connection caps   total and per address: a socket costs memory before its first byte
//   2. head limits       in the parser: no bound, no head (431, 414)
//   3. body cap          a declared length over the cap is refused unread (413)
//   4. decode guard      unknown and nested codings are refused unread (415, 413)
//   5. rate limit        cheap, so it protects everything behind it (429)
//   6. in-flight limit   bounds memory and latency of admitted work (429); an answer that waits
//                        for its reader is no work: stage 1 bounds those
//   7. deadline          admitted work knows when nobody waits any more (504)
//   8. capability        cryptography only for requests that fit (401, 403)
//   9. handler
//
// Light routes (health, readiness, version, metrics) skip 5 to 8: an overloaded server still says
// so.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/result.h"
#include "http/decode_guard.h"
#include "http/request.h"
#include "http/router.h"
#include "http/settings.h"
#include "runtime/permit.h"
#include "runtime/token_bucket.h"

namespace ron::http {

// Stage 8, given by the service: fills the request's tenant and grant, or says 401/403.
using Authorize = std::function<base::Result<void>(Request&, const Route&)>;

// Open connections per address. Any thread; touched only when a connection comes or goes.
class AddressCap {
 public:
  AddressCap() = default;
  AddressCap(const AddressCap&) = delete;
  AddressCap& operator=(const AddressCap&) = delete;

  class [[nodiscard]] Place {
   public:
    Place() = default;
    Place(AddressCap* cap, std::array<std::uint8_t, 16> ip) noexcept : cap_(cap), ip_(ip) {}
    Place(Place&& other) noexcept : cap_(std::exchange(other.cap_, nullptr)), ip_(other.ip_) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(cap_, other.cap_);
      std::swap(ip_, other.ip_);
      return *this;
    }
    ~Place() {
      if (cap_ != nullptr) cap_->leave(ip_);
    }
    explicit operator bool() const noexcept { return cap_ != nullptr; }

   private:
    AddressCap* cap_ = nullptr;
    std::array<std::uint8_t, 16> ip_{};
  };
  // An empty place when the address has `most` connections already.
  Place try_enter(const std::array<std::uint8_t, 16>& ip, std::size_t most);

 private:
  struct Hash {
    std::size_t operator()(const std::array<std::uint8_t, 16>& ip) const noexcept;
  };
  void leave(const std::array<std::uint8_t, 16>& ip) noexcept;

  std::mutex mutex_;
  std::unordered_map<std::array<std::uint8_t, 16>, std::size_t, Hash> open_;  // guarded by mutex_
};

// Why requests and connections were turned away, by stage.
struct RejectionMeters {
  explicit RejectionMeters(runtime::Meters& meters);
  runtime::Counter& connections;
  runtime::Counter& peer;  // a user the Unix socket is not for
  runtime::Counter& tls;   // no agreement
  runtime::Counter& connections_per_ip;
  runtime::Counter& head;
  runtime::Counter& body_cap;
  runtime::Counter& decode;
  runtime::Counter& rate;
  runtime::Counter& inflight;
  runtime::Counter& capability;
  // The counter a refusal of the decode or body stages belongs to.
  runtime::Counter& of(base::Code code) noexcept;
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

  // Stages 3 and 4, before anything of the body is read.
  base::Result<Coding> check_body(const RequestHead& head, const ServerSettings& settings) const;
  // Stages 5 to 8. The permit counts the request as in flight until it is dropped.
  base::Result<runtime::Limit::Permit> admit(Request& request, const Route& route,
                                             RouteMeters& meters, const ServerSettings& settings,
                                             platform::TimePoint now);

  RejectionMeters rejections;

 private:
  runtime::Limit connections_;
  runtime::Limit inflight_;
  AddressCap addresses_;
  runtime::TokenBucket rate_;
  Authorize authorize_;
  runtime::GaugeRegistration open_gauge_;
  runtime::GaugeRegistration inflight_gauge_;
};

}  // namespace ron::http
