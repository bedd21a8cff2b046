#include "cli/client_options.h"

#include <algorithm>
#include <array>

#include "cli/token.h"
#include "config/nearest.h"
#include "config/value.h"
#include "platform/posix/files.h"
#include "platform/posix/probe.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;

// Where `ron up` listens unless it is told otherwise.
const ServerUrl kLocalUp{.host = "127.0.0.1", .port = kUpPort};
constexpr std::string_view kPrefix = "RON_";
// Without the prefix.
const std::array<std::string, 4> kVariables = {"URL", "ADMIN_URL", "TOKEN", "CA_FILE"};
constexpr std::size_t kCaFileBytes = 4 * base::kMiB;

std::string value_of(const Environment& environment, std::string_view wanted) {
  const auto found = std::ranges::find(environment, wanted, &Environment::value_type::first);
  return found == environment.end() ? "" : found->second;
}

// A variable that was meant for us and would be ignored: everything would seem to work, elsewhere.
base::Result<void> check_names(const Environment& environment) {
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string rest = name.substr(kPrefix.size());
    if (std::ranges::find(kVariables, rest) != kVariables.end()) continue;
    const std::string near = config::nearest(rest, kVariables);
    if (near.empty()) continue;
    return fail(Code::Malformed, "no variable " + config::printable(name) +
                                     " is known; did you mean " + std::string(kPrefix) + near +
                                     "?");
  }
  return {};
}

// What a flag or else a variable says.
base::Result<ServerUrl> parse_named(const std::string& flag, std::string_view flag_name,
                                    const std::string& variable, std::string_view variable_name) {
  auto url = parse_server_url(flag.empty() ? variable : flag);
  if (url) return url;
  return fail(Code::Malformed,
              std::string(flag.empty() ? variable_name : flag_name) + ": " + url.error().message);
}

ServerUrl local_server(const IsServed& is_served, std::uint16_t service_port) {
  const ServerUrl service{.host = kLocalUp.host, .port = service_port};
  return !is_served(kLocalUp) && is_served(service) ? service : kLocalUp;
}

base::Result<void> find_servers(const ClientFlags& flags, const Environment& environment,
                                const IsServed& is_served, ClientOptions& out) {
  const std::string variable = value_of(environment, "RON_URL");
  const bool is_named = !flags.url.empty() || !variable.empty();
  const auto server = is_named
                          ? parse_named(flags.url, "--url", variable, "RON_URL")
                          : base::Result<ServerUrl>(local_server(is_served, flags.service_port));
  if (!server) return fail(server.error());
  out.server = *server;
  const std::string admin = flags.url.empty() ? value_of(environment, "RON_ADMIN_URL") : "";
  if (!flags.admin_url.empty() || !admin.empty()) {
    out.admin = parse_named(flags.admin_url, "--admin-url", admin, "RON_ADMIN_URL");
    if (!out.admin) return fail(out.admin.error());
  } else {
    out.admin = admin_of(out.server);
  }
  return {};
}

base::Result<void> find_trust(const ClientFlags& flags, const Environment& environment,
                              ClientOptions& out) {
  const auto is_https = [](const ServerUrl& url) { return url.scheme == ServerUrl::Scheme::Https; };
  if (!is_https(out.server) && !(out.admin && is_https(*out.admin))) return {};
  const std::string variable = value_of(environment, "RON_CA_FILE");
  const std::string& file = flags.ca_file.empty() ? variable : flags.ca_file;
  const std::string named = (flags.ca_file.empty() ? "RON_CA_FILE: " : "--ca: ") + file + ": ";
  base::Result<std::shared_ptr<const platform::TlsClient>> made = nullptr;
  if (file.empty()) {
    made = platform::TlsClient::make();
  } else {
    const auto text = platform::posix::read_small_file(file, kCaFileBytes);
    if (!text) return fail(text.error().code, named + text.error().message);
    made = platform::TlsClient::trusting(*text);
  }
  if (!made) return fail(Code::Malformed, (file.empty() ? "" : named) + made.error().message);
  out.tls = std::move(*made);
  return {};
}

base::Result<void> find_token(const ClientFlags& flags, const Environment& environment,
                              ClientOptions& out) {
  const std::string variable = value_of(environment, "RON_TOKEN");
  const std::string beside = flags.data + "/keys/admin.token";
  if (flags.token_file.empty() && variable.empty()) {
    const auto there = platform::posix::file_mode(beside);
    if (!there) {
      const bool absent = there.error().code == Code::NotFound;
      out.no_token = absent ? "there is no '" + beside + "'" : there.error().message;
      return {};
    }
  }
  const bool by_variable = flags.token_file.empty() && !variable.empty();
  const auto token = by_variable ? parse_token(variable, "RON_TOKEN")
                                 : read_token(flags.token_file.empty() ? beside : flags.token_file);
  if (!token) return fail(token.error());
  out.token = token->text();
  return {};
}

base::Result<ClientOptions> resolve_servers(const ClientFlags& flags,
                                            const Environment& environment,
                                            const IsServed& is_served) {
  const auto known = check_names(environment);
  if (!known) return fail(known.error());
  ClientOptions options;
  const auto servers = find_servers(flags, environment, is_served, options);
  if (!servers) return fail(servers.error());
  const auto trust = find_trust(flags, environment, options);
  if (!trust) return fail(trust.error());
  return options;
}

bool is_served_here(const ServerUrl& url) { return platform::posix::is_served_locally(url.port); }

}  // namespace

base::Result<ClientOptions> resolve(const ClientFlags& flags, const Environment& environment,
                                    const IsServed& is_served) {
  auto options = resolve_servers(flags, environment, is_served);
  if (!options) return options;
  options->jobs = flags.jobs;
  options->quiet = flags.quiet;
  const auto token = find_token(flags, environment, *options);
  if (!token) return fail(token.error());
  return options;
}

base::Result<ClientOptions> resolve(const ClientFlags& flags) {
  return resolve(flags, platform::posix::environment(), is_served_here);
}

base::Result<ClientOptions> resolve_admin(const ClientFlags& flags) {
  const Environment environment = platform::posix::environment();
  auto options = resolve_servers(flags, environment, is_served_here);
  if (options && !options->admin) return fail(options->admin.error());
  return options;
}

base::Result<std::vector<base::ObjectId>> parse_addresses(const std::vector<std::string>& words) {
  std::vector<base::ObjectId> ids;
  for (const std::string& word : words) {
    const auto id = base::ObjectId::parse(word);
    if (!id) {
      return fail(Code::BadAddress,
                  "'" + config::printable(word) + "' is not an address: b3: and 64 hex digits");
    }
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace ron::cli
