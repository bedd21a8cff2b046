#include "cli/server_url.h"

namespace ron::cli {
namespace {

constexpr unsigned kAdminOffset = 1000;

}  // namespace

base::Result<ServerUrl> admin_of(const ServerUrl& server) {
  ServerUrl admin = server;
  if (server.scheme == ServerUrl::Scheme::Unix || server.port > UINT16_MAX - kAdminOffset) {
    return base::fail(base::Code::Malformed, "the admin listener of " + server.text() +
                                                 " cannot be guessed; name it with --admin-url or "
                                                 "RON_ADMIN_URL");
  }
  admin.port = server.port == kUpPort ? kUpAdminPort
                                      : static_cast<std::uint16_t>(server.port + kAdminOffset);
  return admin;
}

}  // namespace ron::cli
