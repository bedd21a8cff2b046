// The rules of a tree of named files that is kept in memory, shared by the simulated disk and by
// MemoryDisk: where a path leads, and what may be opened, moved, linked and removed.
//
// `Inode` has `is_directory` and `names`, a map from names to shared pointers of its own kind.
// Results are errno values, 0 for success. Synchronised by whoever owns the tree.
#pragma once

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "platform/disk.h"

namespace ron::platform {

// Where a path leads: the directory and the last name; `inode` is null if nothing is there.
template <class Inode>
struct FilePlace {
  std::shared_ptr<Inode> directory;
  std::string name;
  std::shared_ptr<Inode> inode;
};

// Splits a path into its names; false when it has a "..".
inline bool split_path(std::string_view path, std::vector<std::string_view>& names) {
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (name == "..") return false;
    if (!name.empty() && name != ".") names.push_back(name);
  }
  return true;
}

template <class Inode>
int find_place(const std::shared_ptr<Inode>& root, std::string_view path, FilePlace<Inode>& place) {
  std::vector<std::string_view> names;
  if (!split_path(path, names)) return EINVAL;
  place = {root, "", root};
  for (const std::string_view name : names) {
    if (place.inode == nullptr) return ENOENT;
    if (!place.inode->is_directory) return ENOTDIR;
    place.directory = std::move(place.inode);
    place.name = name;
    const auto found = place.directory->names.find(name);
    place.inode = found != place.directory->names.end() ? found->second : nullptr;
  }
  return 0;
}

template <class Inode>
int find_directory(const std::shared_ptr<Inode>& root, std::string_view path,
                   std::shared_ptr<Inode>& out) {
  FilePlace<Inode> place;
  const int error = find_place(root, path, place);
  if (error != 0) return error;
  if (place.inode == nullptr) return ENOENT;
  if (!place.inode->is_directory) return ENOTDIR;
  out = place.inode;
  return 0;
}

// Opening what is there, or is to be made if the mode says so.
template <class Inode>
int check_open(const FilePlace<Inode>& place, OpenMode mode) {
  if (place.inode == nullptr) {
    return mode == OpenMode::ReadExisting || mode == OpenMode::WriteExisting ? ENOENT : 0;
  }
  if (mode == OpenMode::CreateNew) return EEXIST;
  return place.inode->is_directory ? EISDIR : 0;
}

template <class Inode>
bool is_within(const Inode& inode, const Inode& directory) {
  if (&inode == &directory) return true;
  return std::ranges::any_of(directory.names, [&inode](const auto& entry) {
    return entry.second->is_directory && is_within(inode, *entry.second);
  });
}

// A rename to the name of the same file is fine, and nothing is to be done.
template <class Inode>
int check_rename(const std::shared_ptr<Inode>& root, const FilePlace<Inode>& source,
                 const FilePlace<Inode>& target) {
  if (source.inode == nullptr) return ENOENT;
  if (source.inode == root || target.inode == root) return EBUSY;
  if (source.inode == target.inode) return 0;
  if (source.inode->is_directory && is_within(*target.directory, *source.inode)) return EINVAL;
  if (target.inode == nullptr) return 0;
  if (target.inode->is_directory != source.inode->is_directory) {
    return target.inode->is_directory ? EISDIR : ENOTDIR;
  }
  return target.inode->names.empty() ? 0 : ENOTEMPTY;
}

template <class Inode>
int check_link(const FilePlace<Inode>& source, const FilePlace<Inode>& target) {
  if (source.inode == nullptr) return ENOENT;
  if (source.inode->is_directory) return EPERM;
  return target.inode != nullptr ? EEXIST : 0;
}

template <class Inode>
int check_remove(const std::shared_ptr<Inode>& root, const FilePlace<Inode>& place) {
  if (place.inode == nullptr) return ENOENT;
  if (place.inode == root) return EBUSY;
  return place.inode->names.empty() ? 0 : ENOTEMPTY;
}

}  // namespace ron::platform
