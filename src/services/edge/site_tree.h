// SiteTree: a manifest as a web site has it: from a path to a file, a directory or nothing.
//
// Immutable and compact: all paths in one text, a sorted table of where they are in it, a type once
// for all files that have it. Links are followed when it is made, each once, from entry to entry of
// the manifest, so that nothing outside of the tree can be reached and a look-up never runs in
// circles. Making it takes n log n steps for n bytes of manifest, whatever its links are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "base/stop_token.h"
#include "base/units.h"
#include "catalog/manifest.h"
#include "http/codecs.h"

namespace ron::edge {

// Files that stand beside another as the same in a coding: `app.js.br` beside `app.js`.
struct SiblingKind {
  http::Coding coding;
  std::string_view suffix;
};
inline constexpr std::array<SiblingKind, 3> kSiblingKinds = {
    {{http::Coding::Brotli, ".br"}, {http::Coding::Zstd, ".zst"}, {http::Coding::Gzip, ".gz"}}};

// Any thread.
class SiteTree {
 public:
  // About 300,000 files; svc-index looks into manifests of that size, too.
  static constexpr std::size_t kMostManifestBytes = 64 * base::kMiB;
  // Links that lead to links; what is deeper leads nowhere, as a circle does.
  static constexpr std::size_t kMostHops = 8;

  using FileIndex = std::uint32_t;
  static constexpr FileIndex kNoFile = UINT32_MAX;

  struct File {
    base::ObjectId address;
    std::uint64_t length = 0;
    std::uint32_t type = 0;  // of types_
    // In the order of kSiblingKinds; kNoFile where there is none.
    std::array<FileIndex, kSiblingKinds.size()> siblings{};
  };

  // Malformed when the text is no manifest, the token's error when it was asked to stop. Off the
  // cores.
  static base::Result<std::shared_ptr<const SiteTree>> read(std::string_view text,
                                                            const base::StopToken& stop = {});
  // Not whole if it was asked to stop.
  explicit SiteTree(const catalog::Manifest& manifest, const base::StopToken& stop = {});
  SiteTree(const SiteTree&) = delete;
  SiteTree& operator=(const SiteTree&) = delete;

  // What stands at a path below the site, without a slash in front.
  enum class Kind : std::uint8_t {
    File,      // the file itself, or the index.html of a directory named with its slash
    Redirect,  // a directory named without its slash
    Missing
  };
  struct Found {
    Kind kind = Kind::Missing;
    FileIndex file = kNoFile;
  };
  [[nodiscard]] Found find(std::string_view path) const;
  // The nearest 404.html from the directory of a path up to the root; kNoFile: there is none.
  [[nodiscard]] FileIndex error_page(std::string_view path) const;

  [[nodiscard]] const File& file(FileIndex index) const noexcept { return files_[index]; }
  // Where a file stands in the tree. Takes time proportional to the tree.
  [[nodiscard]] std::string_view path_of(FileIndex index) const noexcept;
  // Of a Content-Type header.
  [[nodiscard]] const std::string& type_of(const File& file) const noexcept {
    return types_[file.type];
  }
  [[nodiscard]] bool has_siblings(const File& file) const noexcept;

  [[nodiscard]] std::size_t files() const noexcept { return files_.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // Look-ups of one name in one directory that following all links took.
  [[nodiscard]] std::uint64_t link_steps() const noexcept { return link_steps_; }
  // What it costs in memory.
  [[nodiscard]] std::size_t footprint() const noexcept;

 private:
  struct Node {
    enum class Kind : std::uint8_t { File, Directory, Link };
    std::uint32_t at = 0;  // of its path in text_
    std::uint32_t size = 0;
    std::uint32_t value = 0;  // of files_ or links_
    Kind kind = Kind::Directory;
  };
  // Of nodes_: all that stands below a directory.
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  struct Link {
    const Node* end = nullptr;  // a file or a directory; null: it leads nowhere
    Range below{};              // of a directory
  };
  class TypeTable;
  class Walk;
  class LinkWalks;

  void add_entry(const catalog::ManifestEntry& entry, std::string_view path_before,
                 TypeTable& types);
  void follow_links(std::vector<std::string> targets, const base::StopToken& stop);
  void add_siblings(const base::StopToken& stop);

  [[nodiscard]] std::string_view path_of(const Node& node) const noexcept {
    return std::string_view(text_).substr(node.at, node.size);
  }
  // The first of a range whose path, from `skip` on, is not less than `text` and then `after`.
  [[nodiscard]] std::uint32_t first_not_less(Range range, std::size_t skip, std::string_view text,
                                             std::string_view after) const noexcept;
  // What stands below a directory, whose name begins at `skip` of its path: looked for in the range
  // of the directory it is in.
  [[nodiscard]] Range below(const Node& directory, std::size_t skip, Range within) const noexcept;
  [[nodiscard]] Range everything() const noexcept {
    return {0, static_cast<std::uint32_t>(nodes_.size())};
  }
  // At exactly this path, links as such; null when there is none.
  [[nodiscard]] const Node* node_at(std::string_view path) const noexcept;
  // The same with the links as what they lead to.
  [[nodiscard]] const Node* followed(std::string_view path) const noexcept;
  // A file or a directory, through whatever links; null when there is none.
  [[nodiscard]] const Node* resolve(std::string_view path) const;
  [[nodiscard]] FileIndex file_at(const std::string& path) const;

  std::string text_;
  std::vector<Node> nodes_;  // in order of their paths
  std::vector<File> files_;
  std::vector<Link> links_;
  std::vector<std::string> types_;
  std::uint64_t bytes_ = 0;
  std::uint64_t link_steps_ = 0;
};

using SiteTreePtr = std::shared_ptr<const SiteTree>;

}  // namespace ron::edge
