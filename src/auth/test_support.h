// Fixed keys and random caveats and requests for this folder's tests.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "auth/capability.h"

namespace ron::auth::testing {

inline constexpr std::int64_t kNow = 1'800'000'000;

inline std::array<std::byte, Secret::kBytes> secret_bytes(unsigned char fill) {
  std::array<std::byte, Secret::kBytes> bytes{};
  bytes.fill(static_cast<std::byte>(fill));
  return bytes;
}
inline std::array<std::byte, kNonceBytes> nonce_bytes(unsigned char fill) {
  std::array<std::byte, kNonceBytes> bytes{};
  bytes.fill(static_cast<std::byte>(fill));
  return bytes;
}

inline RootKey root_key(std::string id, unsigned char fill) {
  return RootKey{.id = std::move(id),
                 .secret = Secret(secret_bytes(fill)),
                 .created_unix_s = kNow - 1000,
                 .not_after_unix_s = std::nullopt};
}
inline Keyring keyring(DenyList denied = {}) {
  return Keyring::make(root_key("k1", 1), {}, std::move(denied)).value();
}
// A token of key `k1` with these caveat texts, understood or not.
inline Macaroon token_with(const std::vector<std::string>& caveats,
                           const Tenancy& tenancy = Tenancy::any()) {
  const RootKey key = root_key("k1", 1);
  Macaroon token =
      Macaroon::mint(key.secret.bytes(), print_token_identifier("k1", nonce_bytes(9), tenancy),
                     kTokenLocation)
          .value();
  for (const std::string& caveat : caveats) token = token.attenuate(caveat).value();
  return token;
}

// Texts of a small world in which caveats often agree, often contradict and often match requests.
inline const std::vector<std::string>& all_caveat_texts() {
  static const std::vector<std::string> texts{
      "scope = storage:write",
      "scope = storage:write,storage:delete",
      "scope = index:write",
      "scope = storage:write,future:scope",
      "scope = future:scope",
      "tenant = acme",
      "tenant = other",
      "path_prefix = /",
      "path_prefix = /o",
      "path_prefix = /o/",
      "path_prefix = /o/a",
      "path_prefix = /uploads",
      "method = GET",
      "method = GET,PUT",
      "method = PUT",
      "expires = 2027-01-15T07:59:59Z",
      "expires = 2027-01-15T08:00:00Z",
      "expires = 2027-01-15T08:00:01Z",
      "expires = 2030-01-01T00:00:00+02:00",
      "max_bytes = 0",
      "max_bytes = 100",
      "max_bytes = 1048576",
      "colour = blue",
      "scope=storage:write",
  };
  return texts;
}
inline rc::Gen<std::string> caveat_text() { return rc::gen::elementOf(all_caveat_texts()); }
inline rc::Gen<std::vector<std::string>> caveat_texts() {
  return rc::gen::resize(5, rc::gen::container<std::vector<std::string>>(caveat_text()));
}

// Every tenancy of that world, and the tenants its requests are about; empty: no tenant.
inline const std::vector<Tenancy>& all_tenancies() {
  static const std::vector<Tenancy> tenancies{Tenancy::unsaid(), Tenancy::nobody(),
                                              Tenancy::named("acme"), Tenancy::named("other"),
                                              Tenancy::any()};
  return tenancies;
}
inline rc::Gen<Tenancy> tenancy() { return rc::gen::elementOf(all_tenancies()); }
inline const std::vector<std::string>& all_tenants() {
  static const std::vector<std::string> tenants{"", "acme", "other"};
  return tenants;
}
// Whether the holder of the token can do something for this tenant, now or with a further caveat.
inline bool can_act_for(const Grant& grant, const std::string& tenant) {
  return !grant.tenant_refused && (grant.is_any_tenants() || grant.tenant.value_or("") == tenant);
}

// Every request of that world. Views point to string literals.
inline const std::vector<Request>& all_requests() {
  static const std::vector<Request> requests = [] {
    using Bytes = std::optional<std::uint64_t>;
    using Needed = std::optional<Scope>;
    std::vector<Request> made;
    for (const Needed& scope : {Needed(), Needed(Scope::kStorageWrite),
                                Needed(Scope::kStorageDelete), Needed(Scope::kIndexWrite)}) {
      for (const char* method : {"GET", "PUT", "HEAD"}) {
        for (const char* path :
             {"/", "/o", "/o/", "/o/a", "/o/a/b", "/ox", "/uploads", "/o/../uploads"}) {
          for (const Bytes& bytes : {Bytes(), Bytes(0), Bytes(100), Bytes(101)}) {
            for (const std::int64_t now : {kNow - 1, kNow, kNow + 1}) {
              made.push_back({.scope = scope,
                              .method = method,
                              .path = path,
                              .body_bytes = bytes,
                              .now_unix_s = now});
            }
          }
        }
      }
    }
    return made;
  }();
  return requests;
}
inline rc::Gen<Request> any_request() { return rc::gen::elementOf(all_requests()); }

}  // namespace ron::auth::testing
