// Files at start-up: configuration, keys, data directories. Synchronous, so only before the loops
// run or off them. Errors as disk_error, Malformed for content that breaks the rules here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ron::platform::posix {

// A regular file of at most `max_bytes`; a symbolic link to one is fine.
base::Result<std::string> read_small_file(const std::string& path, std::size_t max_bytes);
// Puts `text` at `path` with mode 0600, atomically and durably: readers see the old or the new. A
// pipe or device that is there is written to instead.
base::Result<void> write_private_file(const std::string& path, std::string_view text);
// Fine if it is not there.
void remove_file(const std::string& path);
// Makes the directory and its missing parents with mode 0700; fine if it is there.
base::Result<void> make_private_directory(const std::string& path);
// Names of what is in the directory, sorted.
base::Result<std::vector<std::string>> list_directory(const std::string& path);
// Permission bits, for example 0600.
base::Result<unsigned> file_mode(const std::string& path);

enum class PathKind : std::uint8_t { Nothing, Directory, Regular, Other };
// What the path leads to.
PathKind path_kind(const std::string& path);
// Whether this process may make, rename and remove names in the directory.
bool can_write_directory(const std::string& path);
// Whether this process may read the file.
bool can_read_file(const std::string& path);
// Whether an open file somewhere has a claim on it (platform::File::try_lock).
base::Result<bool> is_claimed(const std::string& path);
// Room for new bytes on the file system of what is there.
base::Result<std::uint64_t> free_bytes(const std::string& path);

// The process environment.
std::vector<std::pair<std::string, std::string>> environment();

}  // namespace ron::platform::posix
