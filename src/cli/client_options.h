// Where a client command goes and what it may do there: flags, environment and files, resolved
// before anything runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "cli/server_url.h"
#include "platform/tls.h"

namespace ron::cli {

inline constexpr std::size_t kMostJobs = 64;

// As given on the command line; empty means not given.
struct ClientFlags {
  std::string url;
  std::string admin_url;
  std::string ca_file;
  std::string token_file;
  std::string data = "ron-data";
  std::uint16_t service_port = 8081;  // of the service that is meant, where it runs alone
  std::size_t jobs = 16;
  bool quiet = false;
};

struct ClientOptions {
  ServerUrl server;
  base::Result<ServerUrl> admin;  // Malformed when nobody says where it is and it cannot be guessed
  std::shared_ptr<const platform::TlsClient> tls;  // where one of the two is https
  std::string token;     // empty: none was found, which is enough for public reads
  std::string no_token;  // where it was looked for then
  std::size_t jobs = 16;
  bool quiet = false;
};

// All variables of the process.
using Environment = std::vector<std::pair<std::string, std::string>>;

// Whether somebody listens there.
using IsServed = std::function<bool(const ServerUrl&)>;

// The server is --url, else RON_URL, else the local `ron up`, or the service alone where only that
// one is served. Its admin listener is
// --admin-url; else, if the server was not named by --url, RON_ADMIN_URL; else found from the
// server's address, so that it is never another server's. Certificates are judged by --ca or
// RON_CA_FILE, else by what the system trusts. The token is that of --token, RON_TOKEN
// or the data directory's admin.token. Malformed names the flag or variable that cannot be used,
// or the variable that was probably meant.
base::Result<ClientOptions> resolve(const ClientFlags& flags, const Environment& environment,
                                    const IsServed& is_served);
base::Result<ClientOptions> resolve(const ClientFlags& flags);

// Without the token: for what everybody may ask of the admin listener.
base::Result<ClientOptions> resolve_admin(const ClientFlags& flags);

// Every word as an address, or Malformed naming the first that is none.
base::Result<std::vector<base::ObjectId>> parse_addresses(const std::vector<std::string>& words);

}  // namespace ron::cli
