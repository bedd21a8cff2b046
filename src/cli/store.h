// Storer: bytes, files and streams on their way to the server: small ones in one request, large
// ones in parts, one after the other, because the parts of one fill all connections.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "cli/input_stream.h"
#include "cli/session.h"
#include "cli/upload_state.h"
#include "platform/disk.h"
#include "platform/posix/local_files.h"
#include "platform/task.h"
#include "runtime/permit.h"

namespace ron::cli {

// One executor. The session outlives it; it outlives its calls, which are cancel-safe. All count
// what they send as progress.
class Storer {
 public:
  // `states`: where large uploads are remembered, none if they are not to be continued. `spool`: a
  // directory where streams wait.
  Storer(Session& session, std::optional<UploadStates> states, std::string spool)
      : session_(session), states_(std::move(states)), spool_(std::move(spool)) {}

  // At most a part's bytes, whose address was computed.
  platform::Task<base::Result<base::ObjectId>> store_bytes(base::ObjectId id, base::Buffer bytes);
  // A file of more than a part. PreconditionFailed if it is not, or does not stay, what `stamp`
  // says.
  platform::Task<base::Result<base::ObjectId>> store_large(std::string path,
                                                           platform::posix::FileStamp stamp);
  // More than a part, in a file that nobody else writes to.
  platform::Task<base::Result<base::ObjectId>> store_private(platform::File* file,
                                                             std::uint64_t length);
  // Standard input, or for another path what is there. Whoever writes to two of them may do so one
  // after the other, so they are read that way.
  platform::Task<base::Result<base::ObjectId>> store_stream(std::string path);

 private:
  platform::Task<base::Result<base::ObjectId>> store_input(InputStream* input);
  platform::Task<base::Result<std::unique_ptr<platform::File>>> open_spool();

  Session& session_;
  const std::optional<UploadStates> states_;
  const std::string spool_;
  runtime::Semaphore large_{1};
  runtime::Semaphore streams_{1};
};

}  // namespace ron::cli
