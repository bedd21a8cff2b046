// Files as the person at the terminal has them: with links, modes by umask, standard input and
// output. For client commands only; a server's files go through platform::Disk.
//
// Synchronous: on the blocking pool, or while no loop runs. Errors as disk_error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "platform/posix/descriptor.h"

namespace ron::platform::posix {

enum class FileKind : std::uint8_t { Regular, Directory, Link, Other };

// What tells one state of a file from another, as far as the file system says.
struct FileStamp {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

struct FileFacts {
  FileKind kind = FileKind::Other;
  FileStamp stamp;
  bool executable = false;  // by its owner
};

// Of the link itself where the path ends in one.
base::Result<FileFacts> file_facts(const std::string& path);
// Of what the link leads to.
base::Result<FileFacts> target_facts(const std::string& path);
// Whether this process may read the file, which is not opened.
base::Result<void> check_readable(const std::string& path);
// Where the link at `path` leads, as it says itself.
base::Result<std::string> read_link(const std::string& path);
// Absolute, without links; the file must be there.
base::Result<std::string> real_path(const std::string& path);

// Whether both lead to one file, by whatever names and links; false if one leads nowhere.
[[nodiscard]] bool is_same_file(const std::string& path, const std::string& other) noexcept;

struct LocalEntry {
  std::string name;
  FileKind kind = FileKind::Other;
};
// Sorted by name.
base::Result<std::vector<LocalEntry>> list_local(const std::string& path);

// A regular file and, if it has at most `cap_bytes`, all of it; otherwise the buffer is empty. A
// link where the path ends is not followed. PreconditionFailed if it changed while being read.
struct LoadedFile {
  FileStamp stamp;
  base::Buffer bytes;
  bool executable = false;
};
base::Result<LoadedFile> load_file(const std::string& path, std::size_t cap_bytes);

// Streams: standard input and output, pipes, devices. Opening a pipe waits for its other end.
inline constexpr int kStandardInput = 0;
inline constexpr int kStandardOutput = 1;
base::Result<Descriptor> open_input(const std::string& path);
base::Result<Descriptor> open_output(const std::string& path);
// Fills the buffer; shorter only at the end of what is read. `name` is for the error.
base::Result<base::Buffer> read_stream(int stream, base::Buffer into, std::string_view name);
// Canceled when whoever read it has gone.
base::Result<void> write_stream(int stream, base::ByteView bytes, std::string_view name);
[[nodiscard]] bool output_is_terminal() noexcept;
// Drawing that nobody needs: failures are ignored.
void write_standard_error(std::string_view text) noexcept;
[[nodiscard]] bool error_is_terminal() noexcept;
// Columns of the terminal behind standard error; 80 where it does not say.
[[nodiscard]] std::size_t terminal_columns() noexcept;

// Keeps a file or directory from others who lock it the same way, in this process or another,
// until it is destroyed. Does not outlive the process.
class PathLock {
 public:
  // The file, made 0600 if it is not there; a link is not followed. Busy while another holds it.
  static base::Result<PathLock> file(const std::string& path);
  static base::Result<PathLock> directory(const std::string& path);

 private:
  explicit PathLock(Descriptor held) noexcept : held_(std::move(held)) {}
  Descriptor held_;
};

// The mode of a new file that is not private, 0666 less the umask. Only while there is one thread.
[[nodiscard]] unsigned public_file_mode() noexcept;
// Where a file that is written to `path` has to go: to the end of its links, whether or not there
// is something, or, for a pipe or device, into the stream that is there.
struct OutputTarget {
  bool is_stream = false;
  std::string path;
};
base::Result<OutputTarget> output_target(const std::string& path);
// Whether publish_file() may put another file there: PreconditionFailed says what is in the way.
// `force` leaves links, read-only files and other names of the same file behind.
base::Result<void> check_replaceable(const std::string& path, bool force);
// The same of a name in an open directory; `shown` is for the error.
base::Result<void> check_replaceable_at(int directory, const std::string& name,
                                        std::string_view shown, bool force);
// Whether a file that is not finished may have this name: nothing is there, or a regular file of
// ours without other names, which an earlier run has left. What is written to such a file goes
// nowhere else.
[[nodiscard]] bool may_be_draft(const std::string& path) noexcept;
[[nodiscard]] bool may_be_draft_at(int directory, const std::string& name) noexcept;
// Gives a finished file its name. A regular file that has it is replaced and leaves its permissions
// and, where that is allowed, its owner; otherwise the mode is `mode`.
base::Result<void> publish_file(const std::string& draft, const std::string& path, unsigned mode);
// Of a directory beside files of that mode: whoever may read them may look into it.
[[nodiscard]] constexpr unsigned directory_mode(unsigned file_mode) noexcept {
  return file_mode | 0700U | ((file_mode & 0444U) >> 2U);
}
// The directory and its missing parents, as mkdir -p makes them, for files of that mode.
base::Result<void> make_public_directories(const std::string& path, unsigned file_mode);
// Everything written to the file system that holds `path` is on the medium when this returns.
base::Result<void> sync_file_system(const std::string& path);

}  // namespace ron::platform::posix
