// `ron name`, `ron resolve` and `ron providers`: what svc-index knows, for people and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/object_id.h"
#include "catalog/name.h"
#include "cli/client_options.h"
#include "cli/index_client.h"

namespace ron::cli {

// All: the exit code; they block.
int show_name(const ClientOptions& options, const catalog::NameRef& ref, bool json);
int show_history(const ClientOptions& options, const catalog::Name& name, bool json);
struct ListNames {
  std::string prefix;
  bool recursive = false;  // every name, and not only up to the next slash
  bool is_long = false;
  bool json = false;
};
int list_names(const ClientOptions& options, const ListNames& what);
int set_name(const ClientOptions& options, const SetName& what);
int remove_name(const ClientOptions& options, const catalog::Name& name,
                std::optional<std::uint64_t> if_version);

int resolve_key(const ClientOptions& options, const catalog::Key& key, bool fresh, bool json);
struct FindProviders {
  base::ObjectId address;
  std::string region;
  std::optional<std::uint64_t> limit;
  bool json = false;
};
int find_providers(const ClientOptions& options, const FindProviders& what);

// `docs/v2@3  b3:…  TYPE  TIME`, or `docs/v2@4  removed  TIME`.
std::string version_line(const NameVersion& version);
// What /resolve and /providers say, for people; UpstreamFail if it is something else.
base::Result<std::string> resolution_text(std::string_view json);
base::Result<std::string> providers_text(std::string_view json);

}  // namespace ron::cli
