#include "http/client_link.h"

#include "platform/executor.h"

namespace ron::http {

using platform::IoResult;

LinkEnd ClientLink::ended(const IoResult& result) noexcept {
  if (canceled_) return LinkEnd::Canceled;
  if (result.kind == IoResult::Kind::Eof) return LinkEnd::Eof;
  error_ = result.error;
  return LinkEnd::Failed;
}

platform::Task<LinkEnd> ClientLink::establish(platform::TimePoint until) {
  wire_.watch(until);
  for (;;) {
    if (wire_.timed_out()) co_return LinkEnd::TimedOut;
    const IoResult result = stream().try_write({});
    if (result.ok()) break;
    if (!result.would_block()) co_return ended(result);
    co_await stream().writable().wait();
  }
  wire_.unwatch();
  co_return LinkEnd::None;
}

platform::Task<LinkEnd> ClientLink::fill(platform::TimePoint until) {
  const std::size_t before = wire_.pending().size();
  while (wire_.pending().size() == before) {
    if (!stream().readable().is_set()) wire_.release_if_empty();
    const LinkEnd waited = co_await wait_readable(until);
    if (waited != LinkEnd::None) co_return waited;
    const LinkEnd end = poll();
    if (end != LinkEnd::None) co_return end;
  }
  co_return LinkEnd::None;
}

LinkEnd ClientLink::poll() noexcept {
  if (!stream().readable().is_set()) return LinkEnd::None;
  const IoResult result = wire_.try_fill();
  if (result.ok() || result.would_block()) return LinkEnd::None;
  return ended(result);
}

LinkEnd ClientLink::try_read(base::MutableBytes into, std::size_t& bytes) noexcept {
  bytes = 0;
  // A secured stream hands out a record at a time.
  while (bytes < into.size() && stream().readable().is_set() && !wire_.turn_is_over()) {
    const IoResult result = stream().try_read(into.subspan(bytes));
    if (result.would_block()) break;
    if (!result.ok()) return bytes > 0 ? LinkEnd::None : ended(result);
    bytes += result.bytes;
    wire_.spend(result.bytes);
  }
  return LinkEnd::None;
}

platform::Task<LinkEnd> ClientLink::wait_readable(platform::TimePoint until) {
  // An upstream that always has bytes ready must not outrun the deadline.
  if (platform::Executor::current()->now() >= until) co_return LinkEnd::TimedOut;
  if (wire_.turn_is_over()) co_await wire_.give_way();
  wire_.watch(until);
  while (!stream().readable().is_set()) {
    if (wire_.timed_out()) co_return LinkEnd::TimedOut;
    co_await stream().readable().wait();
  }
  wire_.unwatch();
  co_return LinkEnd::None;
}

bool ClientLink::fresh() noexcept {
  const bool alive = !stream().peer_gone() && poll() == LinkEnd::None && wire_.pending().empty();
  wire_.release_if_empty();
  return alive;
}

}  // namespace ron::http
