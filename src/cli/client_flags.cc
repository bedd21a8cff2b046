#include "cli/client_flags.h"

#include <CLI/CLI.hpp>

namespace ron::cli {

void declare_client_flags(CLI::App& command, ClientFlags& flags) {
  command.add_option("--url", flags.url, "The server, default RON_URL or the local one")
      ->type_name("URL");
  command
      .add_option("--ca", flags.ca_file,
                  "PEM file with the certificates an https server is trusted by")
      ->type_name("FILE");
  command.add_option("--token", flags.token_file, "The file with the token, default RON_TOKEN")
      ->type_name("FILE");
  command.add_option("--jobs", flags.jobs, "Requests in flight, default 16")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kMostJobs));
  command.add_flag("-q,--quiet", flags.quiet, "No progress and no notes, only errors");
}

std::string not_empty(const std::string& value) { return value.empty() ? "it is empty" : ""; }

void declare_data_flag(CLI::App& command, ClientFlags& flags) {
  command
      .add_option("--data", flags.data,
                  "Data directory whose admin.token is used, default ron-data")
      ->type_name("DIR");
}

void declare_admin_flag(CLI::App& command, ClientFlags& flags) {
  command
      .add_option("--admin-url", flags.admin_url,
                  "Its admin listener, default RON_ADMIN_URL or the one that goes with the server")
      ->type_name("URL");
}

}  // namespace ron::cli
