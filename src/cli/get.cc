#include "cli/get.h"

#include <charconv>
#include <utility>

#include "cli/download.h"
#include "cli/local_sinks.h"
#include "cli/session.h"
#include "platform/posix/local_files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

constexpr std::size_t kWindow = 6;  // pieces in flight

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Task<Result<std::uint64_t>> fetch(Session* session, const GetObject* what, PieceSink* sink) {
  if (what->range) {
    return download_range(session, {.id = what->id,
                                    .sink = sink,
                                    .window = kWindow,
                                    .first = what->range->first,
                                    .last = what->range->last});
  }
  return download(session, {.id = what->id, .sink = sink, .window = kWindow});
}

// Only all of an object is continued.
Task<Result<std::uint64_t>> fetch_to_file(Session* session, const GetObject* what, FileSink* sink) {
  if (!what->range) co_return co_await fetch_or_continue(session, what->id, sink, kWindow);
  const Result<void> cleared = co_await sink->clear();
  if (!cleared) co_return fail(cleared.error());
  co_return co_await fetch(session, what, sink);
}

Task<Result<void>> to_file(Session* session, const GetObject* what, std::string path,
                           unsigned mode) {
  FileSink sink(*session, std::move(path), what->id);
  const Result<void> opened = co_await sink.open(std::nullopt, what->force);
  if (!opened) co_return opened;
  if (what->sync) sink.sync_early();
  const auto length = co_await fetch_to_file(session, what, &sink);
  if (!length) {
    co_await sink.abandon(what->range ? base::Error() : length.error());
    co_return fail(length.error());
  }
  const Result<void> finished = co_await sink.finish(*length, what->sync);
  if (!finished) co_return finished;
  co_return co_await sink.publish(mode, what->sync);
}

Task<Result<void>> to_stream(Session* session, const GetObject* what, StreamSink* sink) {
  const auto length = co_await fetch(session, what, sink);
  if (!length) co_return fail(length.error());
  co_return Result<void>();
}

Task<Result<void>> to_path(Session* session, const GetObject* what, unsigned mode) {
  auto target = co_await session->off_loop(
      [path = what->out] { return platform::posix::output_target(path); });
  if (!target) co_return fail(std::move(target.error()));
  if (!target->is_stream) {
    session->resumes();
    co_return co_await to_file(session, what, std::move(target->path), mode);
  }
  StreamSink sink(*session, std::move(target->path));
  const Result<void> opened = co_await sink.open();
  if (!opened) co_return opened;
  co_return co_await to_stream(session, what, &sink);
}

}  // namespace

Task<int> get_one(Session* session, const GetObject* what, unsigned mode) {
  session->progress().expect_all();
  Result<void> done;
  if (what->out.empty() || what->out == "-") {
    StreamSink sink(*session, what->out.empty() && platform::posix::output_is_terminal());
    done = co_await to_stream(session, what, &sink);
  } else {
    done = co_await to_path(session, what, mode);
  }
  if (!done) session->complain(what->id.text(), done.error());
  co_return session->exit_code();
}

Result<ByteRange> parse_byte_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto first = number_of(text.substr(0, dash));
    const std::string_view rest = text.substr(dash + 1);
    const auto last = number_of(rest);
    if (first && rest.empty()) return ByteRange{*first, std::nullopt};
    if (first && last && *first <= *last) return ByteRange{*first, last};
  }
  return fail(Code::Malformed, "write the range as FIRST-LAST or FIRST-, both in bytes from 0");
}

int get_object(const ClientOptions& options, const GetObject& what) {
  const unsigned mode = platform::posix::public_file_mode();
  return run_session("get", options,
                     [&what, mode](Session& session) { return get_one(&session, &what, mode); });
}

}  // namespace ron::cli
