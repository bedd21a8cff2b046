#include "cli/pack_session.h"

#include <memory>
#include <utility>

#include "platform/posix/local_files.h"

namespace ron::cli {

using base::Result;
using platform::Task;

int run_without_server(const std::string& command, bool quiet, Work work) {
  ClientOptions options;
  options.quiet = quiet;
  return run_session(command, options, std::move(work));
}

pack::Place pack_place(Session& session) {
  return {&session.host().disk, &session.host().blocking};
}

pack::Progress show_reading(Session* session) {
  return [session, shown = std::uint64_t{0}](std::uint64_t done, std::uint64_t all) mutable {
    if (shown == 0) session->progress().expect_bytes(all);
    session->progress().add_bytes(done - std::exchange(shown, done));
  };
}

Task<Result<std::string>> find_file(Session* session, std::string file) {
  return session->off_loop([file]() -> Result<std::string> {
    auto path = platform::posix::real_path(file);
    if (!path) return path;
    const auto facts = platform::posix::file_facts(*path);
    if (facts && facts->kind == platform::posix::FileKind::Directory) {
      return base::fail(base::Code::Malformed, file + ": it is a directory, not a pack");
    }
    return path;
  });
}

Task<Result<pack::PackPtr>> open_pack(Session* session, std::string file) {
  auto path = co_await find_file(session, file);
  if (!path) co_return base::fail(std::move(path.error()));
  auto opened = co_await pack::open(pack_place(*session), *path, {}, show_reading(session));
  // By the name it was given.
  if (!opened && opened.error().message.starts_with(*path)) {
    opened.error().message.replace(0, path->size(), file);
  }
  co_return opened;
}

}  // namespace ron::cli
