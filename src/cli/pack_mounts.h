// `ron pack add|ls|rm`: packs of a server, as maps.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/client_options.h"

namespace ron::cli {

struct AddPack {
  std::string file;
  std::string name;     // empty: as the file is called
  std::string missing;  // 204 or 404; empty: as the server says
};

// `world-map` for /maps/World Map.pmtiles: what is not fit for a URL becomes a dash. Empty when
// nothing is left.
std::string pack_name_of(const std::string& file);

// The file as the server is told of it. Its machine may be another than ours, so that an absolute
// path which leads nowhere here stays as it is; a relative one must lead to a file.
base::Result<std::string> path_for_server(const std::string& file);

// All: the exit code; they block.
int add_pack(const ClientOptions& options, const AddPack& what);
int list_packs(const ClientOptions& options, bool json);
int remove_pack(const ClientOptions& options, const std::string& name);

}  // namespace ron::cli
