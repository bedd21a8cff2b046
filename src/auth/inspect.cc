#include "auth/inspect.h"

#include "auth/caveat.h"
#include "auth/grant.h"
#include "base/bytes.h"
#include "base/encoding.h"

namespace ron::auth {
namespace {

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char& c : text) {
    if (c >= ' ' && c < '\x7f' && c != '\\') {
      out += c;
    } else {
      out += "\\x" + base::to_hex(base::as_bytes({&c, 1}));
    }
  }
  return out;
}

std::string tenant_text(const Macaroon& token, const Tenancy& minted_for) {
  const Grant grant = Grant::outlined(minted_for, token.caveats());
  if (const auto checked = grant.check_tenant(); !checked) {
    return "refused (" + checked.error().message + ")";
  }
  if (grant.tenant) return *grant.tenant;
  return grant.is_any_tenants() ? "any (its holder may name one)" : "none";
}

}  // namespace

Inspection inspect(const Macaroon& token) {
  Inspection shown;
  if (auto issued = parse_token_identifier(token.identifier())) {
    shown.tenant = tenant_text(token, issued->tenancy);
    shown.issued = std::move(*issued);
  }
  shown.identifier = printable(token.identifier());
  shown.location = printable(token.location());
  for (const std::string& caveat : token.caveats()) {
    shown.caveats.push_back(
        {.text = printable(caveat),
         .understood = parse_caveat(caveat, UnknownScopes::kIgnore).has_value()});
  }
  shown.fingerprint = fingerprint(token);
  return shown;
}

base::Result<Inspection> inspect_text(std::string_view token_text) {
  const auto token = Macaroon::parse_text(token_text);
  if (!token) return base::fail(token.error());
  return inspect(*token);
}

std::string print(const Inspection& inspection) {
  std::string out;
  if (inspection.issued) {
    out += "key: " + inspection.issued->key_id + "\n";
    out += "token: " + inspection.issued->token_id + "\n";
    out += "tenant: " + inspection.tenant + "\n";
  } else {
    out += "identifier: " + inspection.identifier + " (not issued by ron)\n";
  }
  out += "location: " + inspection.location + "\n";
  for (const Inspection::Line& caveat : inspection.caveats) {
    out += "caveat: " + caveat.text + (caveat.understood ? "\n" : " (not understood: refused)\n");
  }
  out += "fingerprint: " + inspection.fingerprint + "\n";
  return out;
}

}  // namespace ron::auth
