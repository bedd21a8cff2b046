// The system calls behind a PosixDisk that may block: they run on the blocking pool, or at start-up
// before any loop runs. All return an errno, 0 for success.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/disk.h"
#include "platform/posix/descriptor.h"

namespace ron::platform::posix::names {

struct Opened {
  int error = 0;
  int fd = -1;
  bool direct = false;
};

// Never follows a symbolic link where the path ends; files are made 0600. Where the file system
// knows no direct I/O, or wants it aligned to more than pages, the file is opened without.
Opened open(const std::string& path, OpenOptions options);
// 0700; fine if it is there.
int make_directory(const std::string& path);
// Sorted by name.
int list(const std::string& path, std::vector<DirectoryEntry>& out);
// Of a regular file.
int version(const std::string& path, FileVersion& out);
int rename(const std::string& from, const std::string& to);
// Of a file, on the same file system; not of what a symbolic link points to.
int link(const std::string& from, const std::string& to);
// A file or an empty directory.
int remove(const std::string& path);
int sync_directory(const std::string& path);
int free_bytes(const std::string& path, std::uint64_t& out);

}  // namespace ron::platform::posix::names
