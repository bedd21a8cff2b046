#include "services/index/registry_follower.h"

#include <chrono>
#include <set>
#include <utility>

#include "runtime/waiting.h"

namespace ron::index {
namespace {

using platform::Task;
using runtime::Deadline;

constexpr base::Duration kAskTimeout = std::chrono::seconds(5);
// Also without news: a registry that did not answer may do so now.
constexpr base::Duration kLookEvery = std::chrono::minutes(1);
constexpr base::Duration kPause = std::chrono::seconds(1);

// A node without a key is known to the registry and has nothing to sign.
std::set<auth::PublicKey> keys_of(const registry_api::Directory& nodes) {
  std::set<auth::PublicKey> keys;
  for (const auto& node : nodes.descriptors) {
    const base::Value* const text = node->value.find("public_key");
    if (text == nullptr || text->text() == nullptr) continue;
    const auto key = auth::parse_public_key(*text->text());
    if (key) keys.insert(*key);
  }
  return keys;
}

}  // namespace

Task<void> follow_registry(registry_api::RegistryApi* registry, Searches* searches,
                           observe::Log log, runtime::Shutdown shutdown) {
  while (!shutdown.requested()) {
    const auto nodes = co_await registry->directory("node", Deadline::in(kAskTimeout));
    if (!nodes) {
      log.warn("the registry did not say which nodes there are", {{"why", nodes.error().message}});
      co_await runtime::wait_stop(shutdown, Deadline::in(kPause));
      continue;
    }
    searches->set_registered(keys_of(**nodes));
    co_await registry->changed((*nodes)->head, Deadline::in(kLookEvery), shutdown);
  }
}

}  // namespace ron::index
