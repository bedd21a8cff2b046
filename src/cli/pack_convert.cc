// `ron pack convert`.
#include <utility>

#include "b3/hash.h"
#include "cli/local_sinks.h"
#include "cli/pack_files.h"
#include "cli/pack_session.h"
#include "pack/convert.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::Result;
using platform::Task;

// Whether a file may be written there. The source is never given up for what is made of it, also
// not by force.
Result<void> check_free(const std::string& from, const std::string& path, bool force) {
  if (platform::posix::is_same_file(from, path)) {
    return base::fail(Code::PreconditionFailed,
                      "it is the file that is to be converted; name another one to write");
  }
  const auto there = platform::posix::file_facts(path);
  if (!there || force) return {};
  return base::fail(Code::PreconditionFailed, "it is there already; --force replaces it");
}

Task<Result<pack::Converted>> convert_into(Session* session, std::string from, FileSink* sink,
                                           unsigned mode) {
  // A draft that somebody has left is of no use.
  const auto cleared = co_await sink->clear();
  if (!cleared) co_return base::fail(cleared.error());
  auto done = co_await pack::convert_mbtiles(
      pack_place(*session), std::move(from), sink->file(), {}, show_reading(session),
      [session](std::uint64_t, std::uint64_t) { session->progress().add_item(); });
  if (!done) co_return done;
  const auto finished = co_await sink->finish(done->bytes, true);
  if (!finished) co_return base::fail(finished.error());
  const auto published = co_await sink->publish(mode, true);
  if (!published) co_return base::fail(published.error());
  co_return done;
}

Task<Result<pack::Converted>> convert_to(Session* session, const PackConversion* what,
                                         std::string from, unsigned mode) {
  // The draft's name tells apart what is converted from where.
  FileSink sink(*session, what->to, b3::hash(base::as_bytes(from)));
  const auto opened = co_await sink.open(std::nullopt, what->force);
  if (!opened) co_return base::fail(opened.error());
  auto done = co_await convert_into(session, std::move(from), &sink, mode);
  if (!done) co_await sink.abandon(base::Error());
  co_return done;
}

Task<int> convert(Session* session, const PackConversion* what, unsigned mode) {
  session->progress().expect_all();
  const auto free =
      co_await session->off_loop([what] { return check_free(what->from, what->to, what->force); });
  if (!free) {
    session->complain(what->to, free.error().message);
    co_return session->exit_code();
  }
  auto from = co_await find_file(session, what->from);
  if (!from) {
    session->complain("", from.error());
    co_return session->exit_code();
  }
  const auto done = co_await convert_to(session, what, std::move(*from), mode);
  if (!done) {
    session->complain(what->from, done.error());
    co_return session->exit_code();
  }
  session->print(what->to + ": " + std::to_string(done->tiles) + " tiles, " +
                 std::to_string(done->contents) + " different, " + std::to_string(done->bytes) +
                 " bytes\n");
  co_return session->exit_code();
}

}  // namespace

int pack_convert(const PackConversion& what) {
  const unsigned mode = platform::posix::public_file_mode();
  return run_without_server("pack convert", what.quiet,
                            [&](Session& session) { return convert(&session, &what, mode); });
}

}  // namespace ron::cli
