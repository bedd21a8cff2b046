#include "services/edge/site_tree.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "catalog/media_type.h"
#include "http/field_list.h"

namespace ron::edge {
namespace {

using base::Result;

constexpr std::string_view kIndexPage = "index.html";
constexpr std::string_view kErrorPage = "404.html";
constexpr std::string_view kUtf8 = "; charset=utf-8";

std::string_view directory_of(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string join(std::string_view directory, std::string_view rest) {
  std::string path(directory);
  if (!path.empty() && !rest.empty()) path += '/';
  path += rest;
  return path;
}

bool contains_word(std::string_view text, std::string_view word) noexcept {
  return !std::ranges::search(text, word, [](char a, char b) {
            return http::lower(a) == b;
          }).empty();
}

// As a browser is to take it. A manifest's type of a file that nobody knew is a guess less good
// than the ending's; text that does not say otherwise is UTF-8.
std::string shown_type(std::string_view type, std::string_view path) {
  if (type == catalog::kUnknownType) type = catalog::media_type_of(path);
  const bool is_text = http::iequals(type.substr(0, 5), "text/");
  std::string shown(type);
  if (is_text && !contains_word(type, "charset=")) shown += kUtf8;
  return shown;
}

// Where the target of the link at `path` is, from the root. Both have passed their checks.
std::string target_path(std::string_view path, std::string_view target) {
  std::string_view directory = directory_of(path);
  std::string resolved;
  while (!target.empty()) {
    const std::size_t end = std::min(target.find('/'), target.size());
    const std::string_view segment = target.substr(0, end);
    target.remove_prefix(std::min(end + 1, target.size()));
    if (segment.empty() || segment == ".") continue;
    if (segment == "..") {
      directory = directory_of(directory);
    } else {
      resolved = join(resolved, segment);
    }
  }
  return join(directory, resolved);
}

}  // namespace

// Types that are alike are kept once.
class SiteTree::TypeTable {
 public:
  explicit TypeTable(std::vector<std::string>& types) : types_(types) {}

  std::uint32_t index_of(std::string type) {
    const auto [found, is_new] =
        known_.try_emplace(std::move(type), static_cast<std::uint32_t>(types_.size()));
    if (is_new) types_.push_back(found->first);
    return found->second;
  }

 private:
  std::vector<std::string>& types_;
  std::unordered_map<std::string, std::uint32_t> known_;
};

Result<SiteTreePtr> SiteTree::read(std::string_view text) {
  if (text.size() > kMostManifestBytes) {
    return base::fail(base::Code::BodyCap, "a site's manifest has at most 64 MiB");
  }
  const auto manifest = catalog::parse_manifest(text);
  if (!manifest) {
    return base::fail(base::Code::Malformed,
                      "the target is no manifest: " + manifest.error().message);
  }
  return std::make_shared<const SiteTree>(*manifest);
}

SiteTree::SiteTree(const catalog::Manifest& manifest) {
  std::size_t text_bytes = 0;
  for (const catalog::ManifestEntry& entry : manifest.entries) text_bytes += entry.path.size();
  text_.reserve(text_bytes);
  nodes_.reserve(manifest.entries.size() + 1);
  nodes_.push_back({});  // the root
  TypeTable types(types_);
  std::string_view before;
  for (const catalog::ManifestEntry& entry : manifest.entries) {
    add_entry(entry, before, types);
    before = entry.path;
  }
  std::ranges::sort(nodes_, {}, [this](const Node& node) { return path_of(node); });
  nodes_.shrink_to_fit();
  files_.shrink_to_fit();
  follow_links();
  add_siblings();
}

void SiteTree::add_entry(const catalog::ManifestEntry& entry, std::string_view path_before,
                         TypeTable& types) {
  const std::string_view path = entry.path;
  const auto at = static_cast<std::uint32_t>(text_.size());
  text_ += path;
  // Paths below one directory stand together in a manifest: it is new if the one before is not
  // below it. Its text is the beginning of the first path below it.
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (path_before.starts_with(path.substr(0, slash + 1))) continue;
    nodes_.push_back({.at = at, .size = static_cast<std::uint32_t>(slash)});
  }
  Node node{.at = at, .size = static_cast<std::uint32_t>(path.size())};
  if (const catalog::TreeFile* file = entry.file()) {
    node.kind = Node::Kind::File;
    node.value = static_cast<std::uint32_t>(files_.size());
    File& added = files_.emplace_back();
    added.address = file->address;
    added.length = file->length;
    added.type = types.index_of(shown_type(file->type, path));
    added.siblings.fill(kNoFile);
    bytes_ += file->length;
  } else if (const catalog::TreeLink* link = entry.link()) {
    node.kind = Node::Kind::Link;
    node.value = static_cast<std::uint32_t>(links_.size());
    links_.push_back({.target = target_path(path, link->target)});
  }
  nodes_.push_back(node);
}

// Each round knows where those end whose way has only links that are known already.
void SiteTree::follow_links() {
  bool has_found = !links_.empty();
  for (std::size_t hops = 0; hops < kMostHops && has_found; ++hops) {
    has_found = false;
    for (Link& link : links_) {
      if (link.end != nullptr) continue;
      link.end = resolve(link.target);
      has_found = has_found || link.end != nullptr;
    }
  }
  for (Link& link : links_) link.target = {};
}

void SiteTree::add_siblings() {
  for (const Node& node : nodes_) {
    if (node.kind != Node::Kind::File) continue;
    for (std::size_t i = 0; i < kSiblingKinds.size(); ++i) {
      std::string path(path_of(node));
      path += kSiblingKinds[i].suffix;
      files_[node.value].siblings[i] = file_at(path);
    }
  }
}

const SiteTree::Node* SiteTree::node_at(std::string_view path) const noexcept {
  const auto found = std::ranges::lower_bound(nodes_, path, {},
                                              [this](const Node& node) { return path_of(node); });
  return found != nodes_.end() && path_of(*found) == path ? &*found : nullptr;
}

const SiteTree::Node* SiteTree::followed(std::string_view path) const noexcept {
  const Node* const node = node_at(path);
  if (node == nullptr || node->kind != Node::Kind::Link) return node;
  return links_[node->value].end;
}

// Goes down a path segment by segment. `here` is where it is: null once it has left the tree.
class SiteTree::Walk {
 public:
  Walk(const SiteTree& tree, std::string_view path)
      : here(&tree.nodes_.front()), tree_(tree), rest_(path) {}

  [[nodiscard]] bool is_over() const noexcept { return here == nullptr || rest_.empty(); }
  void step() {
    const std::size_t end = std::min(rest_.find('/'), rest_.size());
    const std::string_view segment = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    here = here->kind == Node::Kind::Directory ? tree_.followed(child(segment)) : nullptr;
  }
  // A path below where it is, valid until the next call.
  const std::string& child(std::string_view name) {
    path_ = tree_.path_of(*here);
    if (!path_.empty()) path_ += '/';
    path_ += name;
    return path_;
  }

  const Node* here;

 private:
  const SiteTree& tree_;
  std::string_view rest_;
  std::string path_;
};

const SiteTree::Node* SiteTree::resolve(std::string_view path) const {
  const Node* const node = followed(path);
  if (node != nullptr || links_.empty()) return node;
  Walk walk(*this, path);
  while (!walk.is_over()) walk.step();
  return walk.here;
}

SiteTree::FileIndex SiteTree::file_at(const std::string& path) const {
  const Node* const node = resolve(path);
  return node != nullptr && node->kind == Node::Kind::File ? node->value : kNoFile;
}

SiteTree::Found SiteTree::find(std::string_view path) const {
  if (path.empty() || path.ends_with('/')) {
    const FileIndex index = file_at(std::string(path) + std::string(kIndexPage));
    return {index != kNoFile ? Kind::File : Kind::Missing, index};
  }
  const Node* const node = resolve(path);
  if (node == nullptr) return {};
  if (node->kind == Node::Kind::Directory) return {Kind::Redirect, kNoFile};
  return {Kind::File, node->value};
}

SiteTree::FileIndex SiteTree::error_page(std::string_view path) const {
  FileIndex nearest = kNoFile;
  for (Walk walk(*this, path);; walk.step()) {
    if (walk.here == nullptr || walk.here->kind != Node::Kind::Directory) return nearest;
    const Node* const page = followed(walk.child(kErrorPage));
    if (page != nullptr && page->kind == Node::Kind::File) nearest = page->value;
    if (walk.is_over()) return nearest;
  }
}

bool SiteTree::has_siblings(const File& file) const noexcept {
  return std::ranges::any_of(file.siblings, [](FileIndex one) { return one != kNoFile; });
}

std::size_t SiteTree::footprint() const noexcept {
  std::size_t bytes = sizeof(SiteTree) + text_.capacity() + nodes_.capacity() * sizeof(Node) +
                      files_.capacity() * sizeof(File) + links_.capacity() * sizeof(Link);
  for (const std::string& type : types_) bytes += sizeof(std::string) + type.capacity();
  return bytes;
}

}  // namespace ron::edge
