// Where a client command goes and what it may do there: flags, environment and files, resolved
// before anything runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "platform/net.h"

namespace ron::cli {

inline constexpr std::size_t kMostJobs = 64;

// As given on the command line; empty means not given.
struct ClientFlags {
  std::string url;
  std::string admin_url = "http://127.0.0.1:9081";
  std::string token_file;
  std::string data = "ron-data";
  std::size_t jobs = 16;
  bool quiet = false;
};

struct ClientOptions {
  std::string url;
  platform::Endpoint server;
  platform::Endpoint admin;
  std::string token;  // empty: none was found, which is enough for public reads
  std::size_t jobs = 16;
  bool quiet = false;
};

// The URL from --url or RON_URL, else the local storage service; the token from --token, RON_TOKEN
// or the data directory's admin.token. Malformed for a URL or token that cannot be used.
base::Result<ClientOptions> resolve(const ClientFlags& flags);

// Every word as an address, or Malformed naming the first that is none.
base::Result<std::vector<base::ObjectId>> parse_addresses(const std::vector<std::string>& words);

}  // namespace ron::cli
