// The flags that all commands to a server share. For *_command.cc only.
#pragma once

#include <string>

#include "cli/client_options.h"

namespace CLI {
class App;
}

namespace ron::cli {

void declare_client_flags(CLI::App& command, ClientFlags& flags);
// --data, for commands that do not mean the directory's objects by it.
void declare_data_flag(CLI::App& command, ClientFlags& flags);
void declare_admin_flag(CLI::App& command, ClientFlags& flags);
// For CLI::Option::check, where an empty value would be the same as none.
std::string not_empty(const std::string& value);
// How the server and the token are found, for the end of every help.
inline constexpr const char* kClientHelp =
    "The server is --url, else RON_URL, else http://127.0.0.1:8080 (ron up) or, if nobody listens\n"
    "there, port 8081 (ron storage); https://HOST:PORT and unix:PATH do as well. The token is the\n"
    "one in --token FILE, else RON_TOKEN, else keys/admin.token of the data directory; none is "
    "fine\n"
    "where reads are public.\n";
// How its admin listener is, for those who need it.
inline constexpr const char* kAdminHelp =
    "The admin listener is --admin-url, else RON_ADMIN_URL if --url is not given, else 9090 for "
    "the\n"
    "port 8080 and 1000 ports above the server for others.\n";

}  // namespace ron::cli
