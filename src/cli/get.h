// `ron get`: one object to a file or to standard output, or a list of objects into a directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/object_id.h"
#include "base/result.h"
#include "cli/client_options.h"
#include "platform/task.h"

namespace ron::cli {

class Session;

struct ByteRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> last;  // included; none: to the end
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};
// `A-B` or `A-`. Malformed for anything else.
base::Result<ByteRange> parse_byte_range(std::string_view text);

struct GetObject {
  base::ObjectId id;
  std::string out;  // `-` for standard output; empty: the same, but no binary to a terminal
  std::optional<ByteRange> range;
  bool sync = true;
  bool force = false;  // also over read-only files and one of several names
};
// The exit code. Blocks, as all commands do.
int get_object(const ClientOptions& options, const GetObject& what);
// The same within a session; files are made with `mode`. Cancel-safe.
platform::Task<int> get_one(Session* session, const GetObject* what, unsigned mode);

struct GetList {
  std::string list;  // a file or stream of lines `b3:<hex>  name`, `-` for standard input
  std::string directory;
  bool sync = true;
  bool force = false;  // as above, and over symbolic links
};
int get_list(const ClientOptions& options, const GetList& what);

}  // namespace ron::cli
