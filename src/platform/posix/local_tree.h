// LocalTree: a directory below which files are put, and nothing anywhere else.
//
// Every path is relative to it and is walked one segment at a time from a descriptor of the
// directory, never through a symbolic link: neither the paths nor what is there already, nor
// somebody who changes it meanwhile, can lead a write out of it. Files are made under a name of
// their own first (a draft) and get theirs when they are whole.
//
// For client commands, as local_files.h: synchronous, errors as disk_error. Any thread, several at
// once; links and directories one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "platform/posix/descriptor.h"
#include "platform/posix/local_files.h"

namespace ron::platform::posix {

// What a tree keeps of a file besides its bytes.
struct Attributes {
  bool executable = false;
  std::optional<std::int64_t> modified_s;  // since 1970; none: as it comes
};

class LocalTree {
 public:
  struct Options {
    unsigned mode = 0;  // of files, as public_file_mode() has it
    // Symbolic links, read-only files and other names of a file are replaced where they are in the
    // way; directories never are.
    bool force = false;
  };
  // Makes the directory and its missing parents; `path` itself may be a link. Busy while another
  // has it.
  static base::Result<LocalTree> open(const std::string& path, Options options);

  // A regular file that is there.
  struct Present {
    Descriptor file;  // for reading
    std::uint64_t bytes = 0;
  };
  // None when nothing, or something else, is at `path`.
  [[nodiscard]] base::Result<std::optional<Present>> find(std::string_view path) const;
  // Gives a file that find() returned the attributes, as far as it has others.
  base::Result<void> set(const Present& present, const Attributes& attributes) const;

  // Whether a file may get this name: PreconditionFailed says what is in the way. Makes the
  // directories it needs.
  [[nodiscard]] base::Result<void> check_free(std::string_view path) const;
  // The directory that `path` is in, made if it is missing.
  [[nodiscard]] base::Result<Descriptor> parent(std::string_view path) const;

  // Whether a draft may have this name: may_be_draft(). Nothing is made.
  [[nodiscard]] bool may_be_draft(std::string_view path) const;
  // Writes a draft; one that is there is left behind.
  [[nodiscard]] base::Result<void> write(std::string_view draft, base::ByteView bytes) const;
  // Gives a draft in the same directory its attributes and its name.
  [[nodiscard]] base::Result<void> publish(std::string_view draft, std::string_view path,
                                           const Attributes& attributes) const;
  // A link that leads elsewhere is replaced; its draft gets no name that is `taken`.
  using Taken = std::function<bool(const std::string& path)>;
  [[nodiscard]] base::Result<void> make_link(std::string_view path, const std::string& target,
                                             std::optional<std::int64_t> modified_s,
                                             const Taken& taken = {}) const;
  [[nodiscard]] base::Result<void> make_directory(std::string_view path,
                                                  std::optional<std::int64_t> modified_s) const;

  // The names in a directory of the tree; none when it is not there.
  [[nodiscard]] base::Result<std::vector<std::string>> names_in(std::string_view directory) const;
  // Removes what may be a draft, unless somebody is writing it; whether it has.
  [[nodiscard]] bool remove_draft(std::string_view draft) const;

  // Everything written so far is on the medium when this returns.
  [[nodiscard]] base::Result<void> sync() const;

 private:
  LocalTree(Descriptor root, PathLock lock, Options options) noexcept
      : root_(std::move(root)), lock_(std::move(lock)), options_(options) {}

  enum class Missing : bool { Fail, Make };
  // The directory itself for the empty path. NotFound if it is not there and is not to be made.
  [[nodiscard]] base::Result<Descriptor> directory(std::string_view path, Missing missing) const;
  struct Place {
    Descriptor directory;
    std::string name;  // in it
  };
  [[nodiscard]] base::Result<Place> place(std::string_view path, Missing missing) const;
  [[nodiscard]] base::Result<Descriptor> step(int from, const std::string& segment,
                                              std::string_view shown, Missing missing) const;

  Descriptor root_;
  PathLock lock_;
  Options options_;
};

}  // namespace ron::platform::posix
