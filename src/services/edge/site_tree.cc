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

// Where the target of the link at `path` is, from the root. Both have passed their checks: `..`
// stands in front only.
std::string target_path(std::string_view path, std::string_view target) {
  std::string_view directory = directory_of(path);
  std::string below;
  below.reserve(target.size());
  while (!target.empty()) {
    const std::size_t end = std::min(target.find('/'), target.size());
    const std::string_view segment = target.substr(0, end);
    target.remove_prefix(std::min(end + 1, target.size()));
    if (segment.empty() || segment == ".") continue;
    if (segment == "..") {
      directory = directory_of(directory);
    } else {
      if (!below.empty()) below += '/';
      below += segment;
    }
  }
  if (directory.empty() || below.empty()) return std::string(directory) + below;
  return std::string(directory) + '/' + below;
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

Result<SiteTreePtr> SiteTree::read(std::string_view text, const base::StopToken& stop) {
  if (text.size() > kMostManifestBytes) {
    return base::fail(base::Code::BodyCap, "a site's manifest has at most 64 MiB");
  }
  const auto manifest = catalog::parse_manifest(text, stop);
  if (stop.requested()) return base::fail(stop.error());
  if (!manifest) {
    return base::fail(base::Code::Malformed,
                      "the target is no manifest: " + manifest.error().message);
  }
  auto tree = std::make_shared<const SiteTree>(*manifest, stop);
  if (stop.requested()) return base::fail(stop.error());
  return tree;
}

SiteTree::SiteTree(const catalog::Manifest& manifest, const base::StopToken& stop) {
  std::size_t text_bytes = 0;
  for (const catalog::ManifestEntry& entry : manifest.entries) text_bytes += entry.path.size();
  text_.reserve(text_bytes);
  nodes_.reserve(manifest.entries.size() + 1);
  nodes_.push_back({});  // the root
  TypeTable types(types_);
  std::vector<std::string> targets;
  std::string_view before;
  for (const catalog::ManifestEntry& entry : manifest.entries) {
    if (stop.requested()) return;
    add_entry(entry, before, types);
    if (const catalog::TreeLink* link = entry.link()) {
      targets.push_back(target_path(entry.path, link->target));
    }
    before = entry.path;
  }
  std::ranges::sort(nodes_, {}, [this](const Node& node) { return path_of(node); });
  nodes_.shrink_to_fit();
  files_.shrink_to_fit();
  follow_links(std::move(targets), stop);
  add_siblings(stop);
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
  } else if (entry.link() != nullptr) {
    node.kind = Node::Kind::Link;
    node.value = static_cast<std::uint32_t>(links_.size());
    links_.emplace_back();
  }
  nodes_.push_back(node);
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

std::uint32_t SiteTree::first_not_less(Range range, std::size_t skip, std::string_view text,
                                       std::string_view after) const noexcept {
  const auto first = nodes_.begin() + range.first;
  const auto last = nodes_.begin() + range.last;
  const auto found = std::partition_point(first, last, [&](const Node& node) {
    const std::string_view rest = path_of(node).substr(skip);
    const int order = rest.substr(0, text.size()).compare(text);
    return order != 0 ? order < 0 : rest.substr(text.size()) < after;
  });
  return static_cast<std::uint32_t>(found - nodes_.begin());
}

SiteTree::Range SiteTree::below(const Node& directory, std::size_t skip,
                                Range within) const noexcept {
  constexpr std::string_view kSlash = "/";
  constexpr std::string_view kBehindSlash = "0";
  static_assert(kSlash.front() + 1 == kBehindSlash.front());
  const std::string_view name = path_of(directory).substr(skip);
  return {first_not_less(within, skip, name, kSlash),
          first_not_less(within, skip, name, kBehindSlash)};
}

// Goes down a path segment by segment, each with a look-up among what stands below the directory
// it is in. `here` is where it is: null once it has left the tree.
class SiteTree::Walk {
 public:
  Walk(const SiteTree& tree, std::string_view path)
      : here(&tree.nodes_.front()), tree_(tree), below_{1, tree.everything().last}, rest_(path) {}

  [[nodiscard]] bool is_over() const noexcept { return here == nullptr || rest_.empty(); }
  // What the next segment of the path names, links as such; null when there is nothing.
  const Node* next() {
    const std::size_t end = std::min(rest_.find('/'), rest_.size());
    const std::string_view segment = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return child(segment);
  }
  // Goes on from what next() has found.
  void go_to(const Node* node) {
    if (node != nullptr && node->kind == Node::Kind::Link) {
      const Link& link = tree_.links_[node->value];
      here = link.end;
      below_ = link.below;
      return;
    }
    if (node != nullptr && node->kind == Node::Kind::Directory) {
      below_ = tree_.below(*node, prefix(), below_);
    }
    here = node;
  }
  void step() { go_to(next()); }
  // In the directory where it is, links as such.
  [[nodiscard]] const Node* child(std::string_view name) const {
    if (here->kind != Node::Kind::Directory) return nullptr;
    const std::uint32_t found = tree_.first_not_less(below_, prefix(), name, {});
    if (found == below_.last) return nullptr;
    const Node& node = tree_.nodes_[found];
    return tree_.path_of(node).substr(prefix()) == name ? &node : nullptr;
  }
  [[nodiscard]] Range below() const noexcept { return below_; }

  const Node* here;

 private:
  // What the paths of all that stands below `here` begin with, in bytes.
  [[nodiscard]] std::size_t prefix() const noexcept {
    return here->size == 0 ? 0 : std::size_t{here->size} + 1;
  }

  const SiteTree& tree_;
  Range below_;  // of `here`, if it is a directory
  std::string_view rest_;
};

// Follows every link once. A walk that comes to a link whose end is not known yet waits on a stack
// until it is; a link that is met while its own walk waits is part of a circle and leads nowhere.
class SiteTree::LinkWalks {
 public:
  LinkWalks(SiteTree& tree, std::vector<std::string> targets)
      : tree_(tree), targets_(std::move(targets)), states_(targets_.size()) {}

  void follow_all(const base::StopToken& stop) {
    for (std::uint32_t link = 0; link < targets_.size(); ++link) {
      if (states_[link].is_met) continue;
      begin(link);
      while (!waiting_.empty()) {
        if (stop.requested()) return;
        go_on();
      }
    }
  }

 private:
  struct State {
    bool is_met = false;
    bool is_known = false;
    std::uint8_t hops = 0;  // once it is known: links on the way to its end, itself included
  };
  struct Waiting {
    std::uint32_t link;
    Walk walk;
    std::size_t hops = 0;      // most of any link on the way so far
    const Node* at = nullptr;  // the link that is waited for
  };

  void begin(std::uint32_t link) {
    states_[link].is_met = true;
    waiting_.push_back({.link = link, .walk = Walk(tree_, targets_[link])});
  }

  // One step of the walk on top, or its end.
  void go_on() {
    Waiting& top = waiting_.back();
    if (top.at == nullptr && top.walk.is_over()) return end();
    if (top.at == nullptr) {
      ++tree_.link_steps_;
      const Node* const found = top.walk.next();
      if (found == nullptr || found->kind != Node::Kind::Link) return top.walk.go_to(found);
      if (!states_[found->value].is_met) {
        top.at = found;
        return begin(found->value);  // `top` is no more
      }
      if (!states_[found->value].is_known) return top.walk.go_to(nullptr);
      top.at = found;
    }
    const Node* const link = std::exchange(top.at, nullptr);
    top.hops = std::max<std::size_t>(top.hops, states_[link->value].hops);
    top.walk.go_to(link);
  }

  void end() {
    const Waiting& top = waiting_.back();
    State& state = states_[top.link];
    state.is_known = true;
    state.hops = static_cast<std::uint8_t>(std::min(top.hops + 1, kMostHops + 1));
    if (state.hops <= kMostHops && top.walk.here != nullptr) {
      tree_.links_[top.link] = {.end = top.walk.here, .below = top.walk.below()};
    }
    waiting_.pop_back();
  }

  SiteTree& tree_;
  const std::vector<std::string> targets_;  // by link
  std::vector<State> states_;               // by link
  std::vector<Waiting> waiting_;            // each for the next; a link once
};

void SiteTree::follow_links(std::vector<std::string> targets, const base::StopToken& stop) {
  LinkWalks(*this, std::move(targets)).follow_all(stop);
}

// What stands beside an entry is in the same directory, which no link leads to.
void SiteTree::add_siblings(const base::StopToken& stop) {
  std::string path;
  for (const Node& node : nodes_) {
    if (node.kind != Node::Kind::File) continue;
    if (stop.requested()) return;
    for (std::size_t i = 0; i < kSiblingKinds.size(); ++i) {
      path = path_of(node);
      path += kSiblingKinds[i].suffix;
      const Node* const beside = followed(path);
      if (beside != nullptr && beside->kind == Node::Kind::File) {
        files_[node.value].siblings[i] = beside->value;
      }
    }
  }
}

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
    const Node* page = walk.child(kErrorPage);
    if (page != nullptr && page->kind == Node::Kind::Link) page = links_[page->value].end;
    if (page != nullptr && page->kind == Node::Kind::File) nearest = page->value;
    if (walk.is_over()) return nearest;
  }
}

std::string_view SiteTree::path_of(FileIndex index) const noexcept {
  const auto found = std::ranges::find_if(nodes_, [index](const Node& node) {
    return node.kind == Node::Kind::File && node.value == index;
  });
  return found != nodes_.end() ? path_of(*found) : std::string_view();
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
