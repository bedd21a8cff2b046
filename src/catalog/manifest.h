// Manifests: a tree of objects as a document, which is an object itself.
//
//   {"entries":[{"address":"b3:…","exec":true,"length":12,"path":"bin/run","type":"…"},
//               {"dir":true,"path":"empty"},{"link":"bin/run","path":"run"}],"ron":"manifest/1"}
//
// JSON in the form of RFC 8785, entries in bytewise order of their paths: a tree has one manifest
// and so one address. Times are there only if whoever made it asked for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "base/stop_token.h"
#include "base/units.h"

namespace ron::catalog {

inline constexpr std::size_t kMaxManifestBytes = 1 * base::kGiB;
inline constexpr std::size_t kMaxManifestEntries = 4'000'000;
// Of one file and of all together: beyond it JSON's numbers are not exact.
inline constexpr std::uint64_t kMaxTreeBytes = (std::uint64_t{1} << 53) - 1;

struct TreeFile {
  base::ObjectId address;
  std::uint64_t length = 0;
  std::string type;  // a media type
  bool exec = false;
  friend bool operator==(const TreeFile&, const TreeFile&) = default;
};
struct TreeLink {
  std::string target;  // as check_link() has it
  friend bool operator==(const TreeLink&, const TreeLink&) = default;
};
// One with nothing in it: others are where their entries are.
struct TreeDirectory {
  friend bool operator==(const TreeDirectory&, const TreeDirectory&) = default;
};

struct ManifestEntry {
  std::string path;  // as check_path() has it
  std::variant<TreeFile, TreeLink, TreeDirectory> what;
  std::optional<std::int64_t> mtime_s;  // since 1970, within RFC 3339's years

  [[nodiscard]] const TreeFile* file() const noexcept { return std::get_if<TreeFile>(&what); }
  [[nodiscard]] const TreeLink* link() const noexcept { return std::get_if<TreeLink>(&what); }
  friend bool operator==(const ManifestEntry&, const ManifestEntry&) = default;
};

// Entries in order, no path twice, nothing below a file, a link or an empty directory.
struct Manifest {
  std::vector<ManifestEntry> entries;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

struct ManifestSummary {
  std::uint64_t entries = 0;
  std::uint64_t length = 0;  // of all files
  friend bool operator==(const ManifestSummary&, const ManifestSummary&) = default;
};

// Whether entries that come one after the other make a manifest: each by itself, their order, and
// the bounds on all of them. Memory is that of the paths that begin with each other.
class ManifestRules {
 public:
  // Malformed says which entry breaks what. The entry is not looked at after that.
  base::Result<void> take(const ManifestEntry& entry);
  [[nodiscard]] const ManifestSummary& summary() const noexcept { return summary_; }

 private:
  base::Result<void> take_path(const std::string& path);

  ManifestSummary summary_;
  // The paths so far that the last one begins with, itself included: each begins with the one
  // before it. In bytewise order nothing else can be a directory of what follows.
  std::vector<std::string> open_;
};

// The rules of all entries, as a summary.
base::Result<ManifestSummary> check(const Manifest& manifest);

// The document of entries that keep the rules.
std::string print(const Manifest& manifest);
// Malformed, with what and at which byte, unless this is what print() makes of a manifest. Takes
// time proportional to the text and memory proportional to the entries. The token's error when it
// was asked to stop.
base::Result<Manifest> parse_manifest(std::string_view text, const base::StopToken& stop = {});
// The same without keeping the entries.
base::Result<ManifestSummary> summarize_manifest(std::string_view text,
                                                 const base::StopToken& stop = {});

}  // namespace ron::catalog
