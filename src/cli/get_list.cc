#include <memory>
#include <utility>
#include <vector>

#include "cli/download.h"
#include "cli/get.h"
#include "cli/in_order.h"
#include "cli/input_stream.h"
#include "cli/line_reader.h"
#include "cli/local_sinks.h"
#include "cli/name_list.h"
#include "cli/session.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::fail;
using base::Result;
using platform::Task;

constexpr std::size_t kWindow = 2;  // pieces in flight per object; objects come side by side too
constexpr std::size_t kBatch = 4096;

// A file that is whole but not under its name yet.
struct Draft {
  std::string name;
  std::string part;
  std::string path;
};
struct Fetched {
  Draft draft;
  Result<void> done;
};

Task<Fetched> fetch(Session* session, NamedObject entry, std::string directory, unsigned mode,
                    bool force) {
  const std::string path = directory + "/" + entry.name;
  FileSink sink(*session, path, entry.id);
  Fetched fetched{{entry.name, {}, path}, {}};
  fetched.done = co_await sink.open(mode, force);
  if (!fetched.done) co_return fetched;
  fetched.draft.part = sink.part();
  const auto length = co_await fetch_or_continue(session, entry.id, &sink, kWindow);
  if (!length) {
    co_await sink.abandon(length.error());
    fetched.done = fail(length.error());
    co_return fetched;
  }
  fetched.done = co_await sink.finish(*length, false);
  session->progress().add_item();
  co_return fetched;
}

struct Published {
  Result<void> synced;
  std::vector<std::pair<std::string, base::Error>> failures;  // by name
};

// One sync of the file system for all of them costs less than one for each, and no name appears
// before its bytes are on the medium.
Published publish(const std::vector<Draft>& batch, const std::string& directory, unsigned mode,
                  bool sync) {
  Published published;
  if (sync) published.synced = platform::posix::sync_file_system(directory);
  if (!published.synced) return published;
  for (const Draft& draft : batch) {
    const auto done = platform::posix::publish_file(draft.part, draft.path, mode);
    if (!done) published.failures.emplace_back(draft.name, done.error());
  }
  return published;
}

// Files wait for their names without a lock of their own, so the directory has one.
Result<platform::posix::PathLock> take_directory(const std::string& directory, unsigned mode) {
  const auto made = platform::posix::make_public_directories(directory, mode);
  if (!made) return fail(made.error());
  return platform::posix::PathLock::directory(directory);
}

// The get of one list, while it runs.
class ListGet {
 public:
  ListGet(Session& session, const GetList& what, unsigned mode)
      : session_(session),
        what_(what),
        mode_(mode),
        fetching_(session.tasks(), 2 * session.options().jobs),
        publishing_(session.tasks(), 1) {}

  Task<int> run() {
    const auto taken = co_await session_.off_loop(
        [directory = what_.directory, mode = mode_] { return take_directory(directory, mode); });
    if (!taken) {
      session_.complain("", taken.error());
      co_return session_.exit_code();
    }
    InputStream list(session_, what_.list);
    const Result<void> opened = co_await list.open();
    if (!opened) {
      session_.complain("", opened.error());
      co_return session_.exit_code();
    }
    session_.resumes();
    LineReader lines([&list](base::Buffer into) { return list.read(std::move(into)); });
    std::string previous;
    while (!given_up_) {
      auto line = co_await lines.next();
      if (!line) session_.complain(what_.list, line.error());
      if (!line || !*line) break;
      if (**line == previous) continue;
      previous = **line;
      const auto entry = read_entry(**line);
      if (!entry) {
        session_.complain(what_.list + ":" + std::to_string(lines.number()), entry.error());
        continue;
      }
      if (fetching_.full()) co_await take_one();
      fetching_.start(fetch(&session_, *entry, what_.directory, mode_, what_.force));
    }
    while (!given_up_ && !fetching_.empty()) co_await take_one();
    co_await flush();
    while (!publishing_.empty()) co_await take_published();
    if (what_.sync) co_await sync_names();
    co_return session_.exit_code();
  }

 private:
  static Result<NamedObject> read_entry(const std::string& line) {
    auto entry = parse_list_line(line);
    if (!entry) return entry;
    const auto inside = check_inside(entry->name);
    if (!inside) return fail(inside.error());
    return entry;
  }

  Task<void> take_one() {
    auto fetched = co_await fetching_.next();
    if (!fetched.done) {
      session_.complain(fetched.draft.name, fetched.done.error());
      given_up_ = session_.is_unreachable(fetched.done.error());
      co_return;
    }
    batch_.push_back(std::move(fetched.draft));
    if (batch_.size() >= kBatch) co_await flush();
  }

  Task<void> flush() {
    if (batch_.empty()) co_return;
    if (publishing_.full()) co_await take_published();
    publishing_.start(
        session_.off_loop([batch = std::exchange(batch_, {}), directory = what_.directory,
                           mode = mode_, sync = what_.sync]() -> Result<Published> {
          return publish(batch, directory, mode, sync);
        }));
  }

  Task<void> take_published() {
    const auto published = co_await publishing_.next();
    if (!published) {
      session_.complain("", published.error());
      co_return;
    }
    if (!published->synced) session_.complain("", published->synced.error());
    for (const auto& [name, error] : published->failures) session_.complain(name, error);
  }

  Task<void> sync_names() {
    const auto synced = co_await session_.off_loop(
        [directory = what_.directory] { return platform::posix::sync_file_system(directory); });
    if (!synced && session_.exit_code() == 0) session_.complain("", synced.error());
  }

  Session& session_;
  const GetList& what_;
  const unsigned mode_;
  std::vector<Draft> batch_;  // at most kBatch
  bool given_up_ = false;     // nobody answers
  InOrder<Fetched> fetching_;
  InOrder<Result<Published>> publishing_;
};

Task<int> run_list(Session* session, const GetList* what, unsigned mode) {
  ListGet get(*session, *what, mode);
  const int code = co_await get.run();
  co_return code;
}

}  // namespace

int get_list(const ClientOptions& options, const GetList& what) {
  const unsigned mode = platform::posix::public_file_mode();
  return run_session("get", options,
                     [&what, mode](Session& session) { return run_list(&session, &what, mode); });
}

}  // namespace ron::cli
