#include "cli/client_options.h"

#include "cli/fetch.h"
#include "cli/token.h"
#include "config/value.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;

constexpr std::string_view kLocalServer = "http://127.0.0.1:8081";

std::string environment_value(std::string_view wanted) {
  for (const auto& [name, value] : platform::posix::environment()) {
    if (name == wanted) return value;
  }
  return "";
}

base::Result<std::string> find_token(const ClientFlags& flags) {
  std::string where = flags.token_file;
  if (where.empty() && environment_value("RON_TOKEN").empty()) {
    where = flags.data + "/keys/admin.token";
    if (!platform::posix::file_mode(where)) return "";
  }
  const auto token = read_token(where);
  if (!token) return fail(token.error());
  return token->text();
}

}  // namespace

base::Result<ClientOptions> resolve(const ClientFlags& flags) {
  ClientOptions options;
  options.url = !flags.url.empty() ? flags.url : environment_value("RON_URL");
  if (options.url.empty()) options.url = kLocalServer;
  const auto server = parse_base_url(options.url);
  if (!server) return fail(Code::Malformed, options.url + ": " + server.error().message);
  const auto admin = parse_base_url(flags.admin_url);
  if (!admin) return fail(Code::Malformed, flags.admin_url + ": " + admin.error().message);
  auto token = find_token(flags);
  if (!token) return fail(std::move(token.error()));
  options.server = *server;
  options.admin = *admin;
  options.token = std::move(*token);
  options.jobs = flags.jobs;
  options.quiet = flags.quiet;
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
