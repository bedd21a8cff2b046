#include "cli/exit.h"

#include <algorithm>
#include <cstdio>

#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

void complain(std::string_view what) {
  while (what.ends_with('\n')) what.remove_suffix(1);
  for (;;) {
    const std::size_t end = std::min(what.find('\n'), what.size());
    std::fprintf(stderr, "ron: %.*s\n", static_cast<int>(end), what.data());
    if (end == what.size()) return;
    what.remove_prefix(end + 1);
  }
}

}  // namespace

int print_result(std::string_view text) {
  const auto written = platform::posix::write_stream(platform::posix::kStandardOutput,
                                                     base::as_bytes(text), "standard output");
  if (written) return kExitClean;
  const bool unread = written.error().code == base::Code::Canceled;
  return unread ? kExitUnread : failed(written.error().message);
}

int failed(std::string_view what) {
  complain(what);
  return kExitFailed;
}

int bad_usage(std::string_view what) {
  complain(what);
  return kExitBadUsage;
}

}  // namespace ron::cli
