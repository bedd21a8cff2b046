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
  // An upstream that always has bytes ready must not outrun the deadline.
  if (platform::Executor::current()->now() >= until) co_return LinkEnd::TimedOut;
  wire_.watch(until);
  for (;;) {
    if (wire_.timed_out()) co_return LinkEnd::TimedOut;
    const IoResult result = wire_.try_fill();
    if (result.ok()) break;
    if (!result.would_block()) co_return ended(result);
    wire_.release_if_empty();
    co_await stream().readable().wait();
  }
  wire_.unwatch();
  co_return LinkEnd::None;
}

platform::Task<LinkEnd> ClientLink::read_some(base::MutableBytes into, platform::TimePoint until,
                                              std::size_t* bytes) {
  if (platform::Executor::current()->now() >= until) co_return LinkEnd::TimedOut;
  wire_.watch(until);
  for (;;) {
    if (wire_.timed_out()) co_return LinkEnd::TimedOut;
    const IoResult result = stream().try_read(into);
    if (result.ok()) {
      *bytes = result.bytes;
      break;
    }
    if (!result.would_block()) co_return ended(result);
    co_await stream().readable().wait();
  }
  wire_.unwatch();
  co_return LinkEnd::None;
}

LinkEnd ClientLink::poll() noexcept {
  if (!stream().readable().is_set()) return LinkEnd::None;
  const IoResult result = wire_.try_fill();
  if (result.ok() || result.would_block()) return LinkEnd::None;
  return ended(result);
}

bool ClientLink::fresh() noexcept {
  const bool alive = !stream().peer_gone() && poll() == LinkEnd::None && wire_.pending().empty();
  wire_.release_if_empty();
  return alive;
}

}  // namespace ron::http
