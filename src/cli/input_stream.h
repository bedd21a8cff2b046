// InputStream: what is read once, from its beginning to its end: standard input, a pipe, a device,
// a file.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/buffer.h"
#include "base/result.h"
#include "cli/session.h"
#include "platform/posix/local_files.h"
#include "platform/task.h"

namespace ron::cli {

// One task.
class InputStream {
 public:
  // No path, or `-`: standard input.
  InputStream(Session& session, std::string path)
      : session_(session), path_(path == "-" ? "" : std::move(path)) {}

  // Before the first read. Waits for whoever writes to a pipe. Cancel-safe.
  platform::Task<base::Result<void>> open();
  // Fills the buffer; shorter only at the end. What an aborted read takes is lost.
  platform::Task<base::Result<base::Buffer>> read(base::Buffer into);

 private:
  Session& session_;
  const std::string path_;
  // Shared with the read under way, which outlives an abort.
  std::shared_ptr<const platform::posix::Descriptor> opened_;  // null: standard input
};

}  // namespace ron::cli
