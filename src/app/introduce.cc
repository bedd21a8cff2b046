#include "app/introduce.h"

#include "services/edge/service.h"
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
  auto* const edge = find<edge::Service>(services);
  if (edge != nullptr && storage != nullptr) edge->use(storage->api());
  if (edge != nullptr && index != nullptr) edge->use(index->api());
  if (index == nullptr) return;
  if (registry != nullptr) index->use(registry->api());
  if (storage == nullptr) return;
  index->use(storage->api());
  storage->announce_to(index->api());
}

}  // namespace ron::app
