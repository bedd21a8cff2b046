#include "services/registry/local_api.h"

#include <chrono>
#include <utility>

#include "chain/descriptor.h"

namespace ron::registry {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using registry_api::Descriptor;
using registry_api::Directory;
using registry_api::Head;

constexpr platform::BlockingKind kListDescriptors{"list_descriptors", std::chrono::seconds(10)};

std::shared_ptr<Directory> make_directory(const chain::State& state, const std::string& type) {
  auto directory = std::make_shared<Directory>();
  directory->head = {state.head().version, state.head().hash};
  const std::string prefix = type + "/";
  for (auto it = state.descriptors().lower_bound(prefix);
       it != state.descriptors().end() && it->first.starts_with(prefix); ++it) {
    directory->descriptors.push_back(std::make_shared<const Descriptor>(
        Descriptor{it->second->type, it->second->id, it->second->value}));
  }
  return directory;
}

}  // namespace

Task<Result<std::shared_ptr<const Directory>>> LocalApi::directory(std::string type,
                                                                   runtime::Deadline) {
  if (!chain::is_descriptor_type(type)) {
    co_return fail(Code::Malformed, "there are no descriptors of type '" + type + "'");
  }
  // There may be many: they are not copied on the core.
  auto made =
      co_await core_.blocking().run(kListDescriptors, [state = core_.views().state(), type] {
        return std::shared_ptr<const Directory>(make_directory(*state, type));
      });
  co_return made;
}

Task<Result<Head>> LocalApi::changed(Head seen, runtime::Deadline deadline,
                                     runtime::Shutdown shutdown) {
  auto updated = core_.updated().subscribe();
  for (;;) {
    const chain::Head head = updated.see();
    if (Head{head.version, head.hash} != seen) co_return Head{head.version, head.hash};
    const runtime::Waited waited = co_await updated.changed(deadline, shutdown);
    if (waited == runtime::Waited::TimedOut) co_return fail(Code::Timeout, "HEAD is the same");
    if (waited != runtime::Waited::Ready) co_return fail(Code::Canceled, "a stop was requested");
  }
}

}  // namespace ron::registry
