#include "services/storage/core.h"

#include <string>
#include <utility>

#include "b3/hash.h"
#include "services/storage/wires.h"

namespace ron::storage {

using base::Code;
using base::fail;

Core::Core(runtime::Topology& topology, const StorageConfig& config, platform::SendArena& arena)
    : arena_(arena),
      store_(config.cache_bytes.bytes),
      work_(topology, kWork, config.work_capacity),
      events_(topology, kEvents, config.events_capacity),
      work_delay_ns_(config.debug_work_delay.count()) {
  arena_.set_limit(config.cache_bytes.bytes);
}

void Core::apply(const StorageConfig& config) noexcept {
  store_.set_capacity(config.cache_bytes.bytes);
  arena_.set_limit(config.cache_bytes.bytes);
  work_delay_ns_.store(config.debug_work_delay.count(), std::memory_order_relaxed);
}

base::Result<ObjectPtr> Core::get(const base::ObjectId& id) const {
  ObjectPtr object = store_.find(id);
  if (!object) return fail(Code::NotFound, "no object is stored under this address");
  return object;
}

base::Error Core::busy() const {
  return base::Error(Code::Busy, "the work queue is full")
      .with("queue", "work")
      .with("capacity", std::to_string(work_.capacity()));
}

base::Result<void> Core::check_room() {
  if (work_.refuse_if_full()) return fail(busy());
  return {};
}

platform::Task<base::Result<Stored>> Core::put(base::Buffer bytes,
                                               std::optional<base::ObjectId> expected,
                                               runtime::Deadline deadline) {
  auto [sender, receiver] = runtime::oneshot<base::Result<Stored>>();
  auto sent = work_.try_send(PutJob{std::move(bytes), expected, std::move(sender)});
  if (!sent) {
    using Kind = runtime::SendError<PutJob>::Kind;
    if (sent.error().kind == Kind::Full) co_return fail(busy());
    co_return fail(Code::Draining, "the server is shutting down");
  }
  auto reply = co_await receiver.recv(deadline);
  if (reply) co_return std::move(*reply);
  if (reply.error() == runtime::Waited::TimedOut) {
    co_return fail(Code::Timeout, "the object was not stored before the request's deadline");
  }
  co_return fail(Code::Canceled, "the work was cancelled before it finished");
}

base::Result<void> Core::remove(const base::ObjectId& id) {
  const ObjectPtr object = store_.find(id);
  if (!object || !store_.remove(id))
    return fail(Code::NotFound, "no object is stored under this address");
  events_.send({StorageEvent::Kind::Removed, id, object->bytes().size()});
  return {};
}

// Checks the bytes against their address before anyone can see them.
base::Result<Stored> Core::store(base::Buffer bytes,
                                 const std::optional<base::ObjectId>& expected) {
  const base::ObjectId id = b3::hash(bytes.view());
  if (expected && *expected != id) {
    return fail(base::Error(Code::HashMismatch, "the bytes have another address")
                    .with("expected", expected->text())
                    .with("actual", id.text()));
  }
  const std::uint64_t length = bytes.size();
  const base::Result<Added> added =
      store_.add(std::make_shared<const Object>(id, std::move(bytes), arena_));
  if (!added) return fail(added.error());
  if (*added == Added::New) events_.send({StorageEvent::Kind::Stored, id, length});
  return Stored{id, length, *added == Added::New};
}

platform::Task<void> Core::put_worker(runtime::Shutdown shutdown) {
  for (;;) {
    auto job = co_await work_.recv_or_stop(shutdown);
    if (!job) co_return;
    const base::Duration delay(work_delay_ns_.load(std::memory_order_relaxed));
    if (delay > base::Duration::zero()) co_await runtime::sleep_for(delay);
    if (job->reply.abandoned()) continue;
    std::move(job->reply).send(store(std::move(job->bytes), job->expected));
  }
}

platform::Task<void> Core::auditor(observe::Log log, runtime::Shutdown shutdown) {
  auto subscription = events_.subscribe();
  for (;;) {
    auto received = co_await subscription.recv_or_stop(shutdown);
    if (!received) co_return;
    if (const auto* lagged = std::get_if<runtime::Lagged>(&*received)) {
      log.warn("events missed", {{"missed", lagged->missed}});
      continue;
    }
    const auto& event = std::get<StorageEvent>(*received);
    if (!log.enabled(observe::Level::kDebug)) continue;
    const std::string address = event.id.text();
    log.debug(event.kind == StorageEvent::Kind::Stored ? "object stored" : "object removed",
              {{"address", address}, {"bytes", event.length}});
  }
}

}  // namespace ron::storage
