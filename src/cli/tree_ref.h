// What a user means by `docs/v2`, `docs/v2@3` or `docs/v2/css/site.css`: a name, one of its
// versions, or a place in the tree it stands for.
//
// A name may have slashes and so may a path. The longest name that exists is meant: first all of
// the text is taken for a name, then all but its last segment, and so on; the rest is the path. An
// address (`b3:…`, perhaps with a path) stands for itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "catalog/manifest.h"
#include "catalog/name.h"
#include "cli/session.h"
#include "platform/task.h"

namespace ron::cli {

// One way to read a text.
struct Reading {
  catalog::NameRef ref;
  std::string path;  // empty: the name itself
  friend bool operator==(const Reading&, const Reading&) = default;
};
// In the order in which they are tried, the longest name first. Malformed says what is wrong with
// the text if there is none.
base::Result<std::vector<Reading>> readings(std::string_view text);

// What it stands for.
struct Meant {
  std::string shown;  // `docs/v2@3`, or the address
  base::ObjectId target;
  std::string type;  // of a name; empty where nobody says
  std::string path;  // within the tree
  [[nodiscard]] bool is_tree() const noexcept;
  // With the path, for people.
  [[nodiscard]] std::string place() const { return path.empty() ? shown : shown + "/" + path; }
};
// NotFound names what was probably meant. Cancel-safe, as all of these.
platform::Task<base::Result<Meant>> find_meant(Session* session, std::string text);

// Fetched, verified and parsed. Malformed if the object is no manifest.
platform::Task<base::Result<catalog::Manifest>> load_manifest(Session* session,
                                                              base::ObjectId address);

}  // namespace ron::cli
