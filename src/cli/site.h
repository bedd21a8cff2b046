// `ron site`: trees as web sites of svc-edge.
#pragma once

#include <optional>
#include <string>

#include "catalog/name.h"
#include "cli/client_options.h"

namespace ron::cli {

struct AddSite {
  std::string site;
  std::string target;  // a directory here, a name, or an address
  // What a directory is put under; none: sites/SITE.
  std::optional<catalog::Name> name;
  bool allow_skipped = false;  // of a directory, as PutNamed has it
  bool follow = false;
};

// All: the exit code; they block.
int add_site(const ClientOptions& options, const AddSite& what);
int list_sites(const ClientOptions& options, bool json);
int remove_site(const ClientOptions& options, const std::string& site);

}  // namespace ron::cli
