#include "app/introduce.h"

#include "services/index/service.h"
#include "services/registry/service.h"
#include "services/storage/service.h"

namespace ron::app {
namespace {

// nullptr: this process does without.
template <class S>
S* find(const Services& services) {
  for (const auto& service : services) {
    if (auto* const found = dynamic_cast<S*>(service.get())) return found;
  }
  return nullptr;
}

}  // namespace

void introduce(const Services& services) {
  auto* const storage = find<storage::Service>(services);
  auto* const index = find<index::Service>(services);
  auto* const registry = find<registry::Service>(services);
  if (index == nullptr) return;
  if (registry != nullptr) index->use(registry->api());
  if (storage == nullptr) return;
  index->use(storage->api());
  storage->announce_to(index->api());
}

}  // namespace ron::app
