// Where fetched bytes go: a stream, or a file that appears under its name only when it is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "cli/download.h"
#include "cli/in_order.h"
#include "cli/session.h"
#include "platform/disk.h"
#include "platform/posix/local_files.h"

namespace ron::cli {

// A stream: standard output, a pipe or a device. Bytes go as they come. When nobody reads them any
// more the session is told so.
class StreamSink final : public PieceSink {
 public:
  // Standard output. `text_only`: PreconditionFailed instead of what would upset a terminal.
  StreamSink(Session& session, bool text_only) noexcept
      : session_(session), text_only_(text_only) {}
  // What is at `path`, once it is opened. Cancel-safe.
  StreamSink(Session& session, std::string path) : session_(session), path_(std::move(path)) {}
  platform::Task<base::Result<void>> open();

  platform::Task<base::Result<base::Buffer>> take(std::uint64_t offset,
                                                  base::Buffer bytes) override;

 private:
  Session& session_;
  const std::string path_ = "standard output";
  const bool text_only_ = false;
  // Shared with the write under way, which outlives an abort.
  std::shared_ptr<const platform::posix::Descriptor> opened_;  // null: standard output
};

// Control characters other than white space: what makes a terminal do things.
[[nodiscard]] bool is_binary(base::ByteView bytes) noexcept;

// The hidden file beside `path` that holds an object while it is fetched. The address is in its
// name, so what is left there by an interrupted get is continued only by a get of the same object.
// There are several such names, for when something else has the first: `number` says which.
inline constexpr unsigned kPartNames = 8;
inline constexpr std::string_view kPartEnding = ".ron-part";
std::string part_path(const std::string& path, const base::ObjectId& id, unsigned number = 0);
// Whether the file at `path` may be such a one.
[[nodiscard]] bool is_part_path(std::string_view path) noexcept;
// The name of the file that a part file of this name is for; empty when that is not known, or it is
// none.
[[nodiscard]] std::string_view name_of_whole(std::string_view part_name) noexcept;

// The part file of one object. One task. Another process that fetches the same object to the same
// place is refused with Busy until this one is destroyed.
class FileSink final : public PieceSink {
 public:
  // The part file has the first name of part_path() that nothing else has.
  FileSink(Session& session, std::string path, const base::ObjectId& id);
  // It has this name.
  FileSink(Session& session, std::string path, std::string part);

  // Opens the part file, making missing directories for files of a mode if asked to.
  // PreconditionFailed if something is at `path` that must not be replaced, or only by `force`.
  // Cancel-safe, as all of these.
  platform::Task<base::Result<void>> open(std::optional<unsigned> directories_for, bool force);
  // Writes to the medium while more is fetched, so that finish() has little left to sync.
  void sync_early() noexcept { sync_early_ = true; }
  // Whole pieces that are there from before.
  [[nodiscard]] std::uint64_t pieces() const noexcept { return pieces_; }
  [[nodiscard]] platform::File* file() const noexcept { return file_.get(); }
  // Begins again with nothing.
  platform::Task<base::Result<void>> clear();

  platform::Task<base::Result<base::Buffer>> take(std::uint64_t offset,
                                                  base::Buffer bytes) override;

  // All bytes are there: cuts what is too much, makes them durable if asked to, and closes.
  platform::Task<base::Result<void>> finish(std::uint64_t length, bool sync);
  // Puts the file under its name, with the permissions of the file it replaces or else `mode`, and
  // the name onto the medium if asked to.
  platform::Task<base::Result<void>> publish(unsigned mode, bool sync);
  // The get has failed: removes the part file, unless a later get can continue it.
  platform::Task<void> abandon(base::Error why);

  // Once it is open.
  [[nodiscard]] const std::string& part() const noexcept { return part_; }

 private:
  // What to write a piece to.
  platform::Task<base::Result<platform::File*>> file_for(std::uint64_t offset, std::size_t bytes);
  // Waits for the sync under way, if there is one.
  platform::Task<base::Result<void>> finish_sync();

  Session& session_;
  const std::string path_;
  std::vector<std::string> parts_;  // until one is chosen
  std::string part_;
  std::optional<platform::posix::PathLock> lock_;
  std::unique_ptr<platform::File> file_;
  std::unique_ptr<platform::File> direct_;  // the same past the page cache, once it is needed
  std::uint64_t pieces_ = 0;
  std::uint64_t found_bytes_ = 0;
  std::uint64_t written_ = 0;
  bool sync_early_ = false;
  std::uint64_t unsynced_bytes_ = 0;
  InOrder<base::Result<void>> syncing_;
};

// Fetches the object into its part file, which is open. What an earlier run has left there is
// continued; if that leads to other bytes than the address names, they are fetched once more from
// the beginning. The object's length. Cancel-safe.
platform::Task<base::Result<std::uint64_t>> fetch_or_continue(Session* session, base::ObjectId id,
                                                              FileSink* sink, std::size_t window);

}  // namespace ron::cli
