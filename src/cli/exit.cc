#include "cli/exit.h"

#include <algorithm>
#include <cstdio>

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
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) == 0 && written) return kExitClean;
  return failed("cannot write to standard output");
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
