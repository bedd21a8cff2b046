#include "cli/verify_offline.h"

#include <optional>
#include <utility>

#include "cli/session.h"
#include "cli/wires.h"
#include "volume/inspector.h"

namespace ron::cli {
namespace {

using base::Code;
using base::Result;
using platform::Task;
using volume::Inspection;
using volume::Inspector;

// The volume a data directory means.
Task<Result<std::string>> find_volume(platform::Disk* disk, std::string directory) {
  for (const std::string& candidate : {directory, directory + "/storage"}) {
    const Result<bool> is_volume = co_await Inspector::is_volume(disk, candidate);
    if (!is_volume) co_return base::fail(is_volume.error());
    if (*is_volume) co_return candidate;
  }
  co_return base::fail(Code::NotFound, "there is no volume here or in its storage directory");
}

Task<Result<Inspection>> inspect(Session* session, std::string directory) {
  Inspector inspector(
      session->host(), std::move(directory), kVolumeLock,
      {.on_damage = [session](std::string_view what,
                              std::string_view why) { session->complain(what, why); },
       .on_expected = [session](std::uint64_t bytes) { session->progress().expect_bytes(bytes); },
       .on_read = [session](std::uint64_t bytes) { session->progress().add_bytes(bytes); }});
  auto inspected = co_await inspector.run();
  co_return inspected;
}

Task<int> verify_all(Session* session, const std::vector<std::string>* directories) {
  Inspection total;
  bool any = false;
  for (const std::string& directory : *directories) {
    auto where = co_await find_volume(&session->host().disk, directory);
    if (!where) {
      session->complain(directory, where.error());
      continue;
    }
    if (&directory == &directories->back()) session->progress().expect_all();
    auto inspected = co_await inspect(session, std::move(*where));
    if (!inspected) {
      const bool in_use = inspected.error().code == Code::PreconditionFailed;
      session->complain(directory, in_use ? "a running server uses it; ask that, or stop it first"
                                          : describe(inspected.error()));
      continue;
    }
    any = true;
    total.objects += inspected->objects;
    total.bytes += inspected->bytes;
    total.damaged += inspected->damaged;
  }
  if (!any) co_return session->exit_code();
  session->print("checked " + std::to_string(total.objects) + " objects, " +
                 std::to_string(total.bytes) + " bytes, " + std::to_string(total.damaged) +
                 " damaged\n");
  co_return session->exit_code();
}

}  // namespace

int verify_offline(const ClientOptions& options, const std::vector<std::string>& directories) {
  return run_session("verify", options, [&directories](Session& session) {
    return verify_all(&session, &directories);
  });
}

}  // namespace ron::cli
