// For tests: certificates made on the spot.
#pragma once

#include <cstdint>
#include <string>

#include "platform/tls.h"

namespace ron::platform::test {

struct MadeIdentity {
  std::string host = "localhost";  // a name or an address
  std::int64_t from_unix_s = 0;
  std::int64_t until_unix_s = 4'102'444'800;  // 2100
};

// A certificate for that host, signed by itself: who trusts it trusts the server. Ed25519, so that
// all of them have one length and a simulated run is the same each time.
TlsIdentity make_identity(const MadeIdentity& wanted);

// A server with such a certificate, and a client that trusts it.
struct TlsPair {
  explicit TlsPair(const MadeIdentity& wanted = {});
  std::shared_ptr<const TlsServer> server;
  std::shared_ptr<const TlsClient> client;
};

}  // namespace ron::platform::test
