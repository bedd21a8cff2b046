// What the commands about packs have in common: a session without a server, and a pack that is
// opened while its progress is shown.
#pragma once

#include <string>

#include "cli/session.h"
#include "pack/pack.h"

namespace ron::cli {

// run_session for commands that ask nobody: neither flags nor environment can be wrong.
int run_without_server(const std::string& command, bool quiet, Work work);

// Where packs get their bytes and threads from.
pack::Place pack_place(Session& session);
// How much was read, on the session's line.
pack::Progress show_reading(Session* session);
// A link may lead to the file. Cancel-safe.
platform::Task<base::Result<pack::PackPtr>> open_pack(Session* session, std::string file);
// Malformed of a directory. Cancel-safe.
platform::Task<base::Result<std::string>> find_file(Session* session, std::string file);

}  // namespace ron::cli
