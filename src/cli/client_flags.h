// The flags that all commands to a server share. For *_command.cc only.
#pragma once

#include "cli/client_options.h"

namespace CLI {
class App;
}

namespace ron::cli {

void declare_client_flags(CLI::App& command, ClientFlags& flags);
// --data, for commands that do not mean the directory's objects by it.
void declare_data_flag(CLI::App& command, ClientFlags& flags);
void declare_admin_flag(CLI::App& command, ClientFlags& flags);
// How the server and the token are found, for the end of every help.
inline constexpr const char* kClientHelp =
    "The server is --url, else RON_URL, else http://127.0.0.1:8081; https://HOST:PORT and\n"
    "unix:PATH do as well. The token is the one in --token FILE, else RON_TOKEN, else\n"
    "keys/admin.token of the data directory; none is fine where reads are public.\n";
// How its admin listener is, for those who need it.
inline constexpr const char* kAdminHelp =
    "The admin listener is --admin-url, else RON_ADMIN_URL if --url is not given, else 1000 ports\n"
    "above the server.\n";

}  // namespace ron::cli
