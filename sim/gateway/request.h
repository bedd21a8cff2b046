// GatewayRequest: one thing a client asks of the gateway, as bytes and as what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/keyring.h"
#include "sim/gateway/plan.h"
#include "sim/harness/request.h"

namespace ron::sim {

// What a client shows. The first kTenants are those of tenants.
enum class Pass : std::uint8_t { Tenant0, Tenant1, Tenant2, Nameless, Expired, Garbage, None };
inline constexpr std::size_t kPasses = 7;

// The capabilities of one seed, and the keyring that knows them.
struct Passes {
  std::vector<std::string> texts;  // by Pass
  std::shared_ptr<const auth::Keyring> keyring;

  [[nodiscard]] const std::string& of(Pass pass) const {
    return texts[static_cast<std::size_t>(pass)];
  }
};
Passes make_passes(Dice dice, std::int64_t now_unix_s);

struct GatewayRequest : Request {
  std::string method;
  std::string target;
  std::string plain_body;               // without framing
  std::optional<std::size_t> group{};   // it is for upstreams
  std::optional<std::size_t> object{};  // it is for svc-storage
  Pass pass = Pass::None;
  bool foreign_host = false;
  bool is_missing = false;  // no route has it

  [[nodiscard]] bool reads() const { return method == "GET" || method == "HEAD"; }
  // Empty: known by the address.
  [[nodiscard]] std::string tenant() const;
};

class GatewayRequests {
 public:
  GatewayRequests(const GatewayPlan& plan, const Passes& passes) : plan_(plan), passes_(passes) {}

  // Anything a client may ask. One that expects 100 Continue must be alone.
  [[nodiscard]] std::unique_ptr<GatewayRequest> any(Dice& dice, bool alone) const;
  // A plain request, as it should be.
  [[nodiscard]] std::unique_ptr<GatewayRequest> plain(Dice& dice, const std::string& method,
                                                      std::size_t group, Pass pass) const;
  // Stores an object, or asks for it.
  [[nodiscard]] std::unique_ptr<GatewayRequest> store(Dice& dice, bool puts,
                                                      std::size_t object) const;

 private:
  void compose(Dice& dice, GatewayRequest& request) const;
  void add_body(Dice& dice, GatewayRequest& request) const;

  const GatewayPlan& plan_;
  const Passes& passes_;
};

// The address of an object's bytes.
std::string object_address(const std::string& bytes);

}  // namespace ron::sim
