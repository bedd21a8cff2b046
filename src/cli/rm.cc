#include "cli/rm.h"

#include <utility>

#include "cli/in_order.h"
#include "cli/session.h"

namespace ron::cli {
namespace {

using base::Result;
using platform::Task;

struct Removed {
  base::ObjectId id;
  Result<void> done;
};

Task<Removed> remove_one(Session* session, base::ObjectId id) {
  auto done = co_await session->objects().remove(id);
  co_return Removed{id, std::move(done)};
}

Task<int> remove_all(Session* session, const std::vector<base::ObjectId>* ids, bool force) {
  InOrder<Removed> window(session->tasks(), session->options().jobs);
  bool missing = false;
  std::size_t started = 0;
  while (started < ids->size() || !window.empty()) {
    while (started < ids->size() && !window.full()) {
      window.start(remove_one(session, (*ids)[started++]));
    }
    const Removed removed = co_await window.next();
    const bool absent = !removed.done && removed.done.error().code == base::Code::NotFound;
    if (!removed.done && !absent) {
      session->complain(removed.id.text(), removed.done.error());
      continue;
    }
    missing = missing || absent;
    if (!session->print(removed.id.text() + (absent ? "  missing\n" : "  removed\n"))) break;
  }
  co_return missing && !force ? 1 : session->exit_code();
}

}  // namespace

int remove_objects(const ClientOptions& options, const std::vector<base::ObjectId>& ids,
                   bool force) {
  return run_session("rm", options,
                     [&ids, force](Session& session) { return remove_all(&session, &ids, force); });
}

}  // namespace ron::cli
