// Names as they are read. Functions over the map; what they read is durable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/name.h"
#include "platform/key_value.h"
#include "platform/task.h"
#include "services/index/entries.h"

namespace ron::index {

// The name as it is now, or one of its versions; nothing: there is none. A removal is one. Any
// core; cancel-safe, as all of them.
platform::Task<base::Result<std::optional<NameVersion>>> find_name(platform::KeyValue* map,
                                                                   catalog::NameRef name);

// Versions of a name below `before`, the newest first.
struct History {
  std::vector<NameVersion> versions;
  bool has_more = false;
};
platform::Task<base::Result<History>> name_history(platform::KeyValue* map, catalog::Name name,
                                                   std::uint64_t before, std::size_t limit);

// What a list of names is asked for.
struct ListQuery {
  std::string prefix{};
  std::string delimiter{};  // empty: names only
  std::string after{};      // what came last on the page before
  std::size_t limit = 0;
};
// In the order of bytes. What `prefix` is followed by up to the next delimiter stands once among
// the prefixes, for all names that begin so.
struct NamePage {
  std::vector<NameVersion> names;
  std::vector<std::string> prefixes;
  std::optional<std::string> next;  // where the next page goes on: its `after`
};
platform::Task<base::Result<NamePage>> list_names(platform::KeyValue* map, ListQuery query);

// Records of one address that are kept at most. Further nodes are refused.
inline constexpr std::size_t kMostPerAddress = 256;
// What a look-up finds under an address, expired ones included.
platform::Task<base::Result<std::vector<ProviderEntry>>> find_providers(platform::KeyValue* map,
                                                                        base::ObjectId address);
platform::Task<base::Result<std::optional<ManifestFacts>>> find_manifest(platform::KeyValue* map,
                                                                         base::ObjectId address);
// Keys that are pinned, at most `limit`.
platform::Task<base::Result<std::vector<std::string>>> pinned_keys(platform::KeyValue* map,
                                                                   std::size_t limit);

}  // namespace ron::index
