// Arbitrary bytes as a token: parsing is exact and never grants; as caveats under a real signature:
// one caveat more never permits more.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/capability.h"
#include "auth/inspect.h"

namespace {

using namespace ron::auth;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::array<std::byte, Secret::kBytes> kSecret{};
constexpr std::array<std::byte, kNonceBytes> kNonce{};

const Keyring& ring() {
  static const Keyring keys =
      Keyring::make(RootKey{.id = "k1",
                            .secret = Secret(kSecret),
                            .created_unix_s = 0,
                            .not_after_unix_s = std::nullopt},
                    {}, {.token_ids = {}, .key_ids = {}, .fingerprints = {"00000000"}})
          .value();
  return keys;
}

constexpr std::array kRequests{
    Request{.scope = Scope::kStorageWrite,
            .method = "PUT",
            .path = "/o/x",
            .body_bytes = 100,
            .now_unix_s = 1'800'000'000},
    Request{.scope = std::nullopt,
            .method = "GET",
            .path = "/o",
            .body_bytes = std::nullopt,
            .now_unix_s = 1'700'000'000},
    Request{.scope = Scope::kGatewayAdmin,
            .method = "POST",
            .path = "/",
            .body_bytes = 0,
            .now_unix_s = -1},
};

void check_exact(const Macaroon& token, ron::base::ByteView bytes) {
  const auto again = token.serialize();
  require(std::ranges::equal(again, bytes));
  require(Macaroon::parse_text(token.text()) == token);
  require(!print(inspect(token)).empty());
}

// Whether the holder can get the request done for this tenant; empty: for none.
bool succeeds(const ron::base::Result<VerifiedToken>& token, const Request& request,
              std::string_view tenant) {
  if (!token || !permits(*token, request)) return false;
  const Grant& grant = token->grant;
  return grant.is_any_tenants() || grant.tenant.value_or("") == tenant;
}

// The same caveats, signed step by step by a key we know.
void check_never_widens(const std::vector<std::string>& caveats, const Tenancy& tenancy) {
  auto token =
      Macaroon::mint(kSecret, print_token_identifier("k1", kNonce, tenancy), kTokenLocation)
          .value();
  auto wide = verify_token(ring(), token.text());
  require(wide.has_value());
  for (const std::string& caveat : caveats) {
    const auto next = token.attenuate(caveat);
    if (!next) return;
    token = *next;
    require(token.verify(kSecret));
    auto narrow = verify_token(ring(), token.text());
    require(wide || !narrow);
    for (const Request& request : kRequests) {
      for (const std::string_view tenant : {"", "acme", "a"}) {
        if (succeeds(narrow, request, tenant)) require(succeeds(wide, request, tenant));
      }
    }
    wide = std::move(narrow);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto token = Macaroon::parse(bytes);
  if (token) {
    check_exact(*token, bytes);
    // The secret is not in the corpus, so a token that verifies would be a forgery.
    std::array<std::byte, Secret::kBytes> unknown{};
    unknown.fill(std::byte{0x5a});
    require(!token->verify(unknown));
    require(token->lineage(unknown).empty());
    for (const Tenancy& tenancy :
         {Tenancy::unsaid(), Tenancy::nobody(), Tenancy::named("acme"), Tenancy::any()}) {
      check_never_widens(token->caveats(), tenancy);
    }
  }
  const auto text = ron::base::as_text(bytes);
  if (const auto from_text = Macaroon::parse_text(text)) {
    require(Macaroon::parse(from_text->serialize()) == *from_text);
  }
  for (const Request& request : kRequests) (void)authorize(ring(), text, request);
  return 0;
}
