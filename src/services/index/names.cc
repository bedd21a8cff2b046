#include "services/index/names.h"

#include <algorithm>
#include <utility>

namespace ron::index {
namespace {

using base::fail;
using base::Result;
using platform::Task;

// Pairs that a scan asks for at a time.
constexpr std::size_t kScanPairs = 256;
// The same where most of them may be below one prefix.
constexpr std::size_t kScanPairsBelow = 32;
// Scans of names that were removed, for one page, before it says where to go on.
constexpr std::size_t kMostScans = 64;

// What is in memory needs no thread of the blocking pool.
Task<Result<std::optional<std::string>>> look_up(platform::KeyValue* map, std::string key) {
  std::string value;
  const auto found = map->try_get(key, value);
  if (!found) co_return fail(found.error());
  if (*found == platform::KeyValue::Found::Yes) co_return std::move(value);
  if (*found == platform::KeyValue::Found::No) co_return std::nullopt;
  co_return co_await map->get(std::move(key));
}

}  // namespace

Task<Result<std::optional<NameVersion>>> find_name(platform::KeyValue* map, catalog::NameRef name) {
  const std::string& text = name.name.text();
  auto found =
      co_await look_up(map, name.version ? version_key(text, *name.version) : name_key(text));
  if (!found) co_return fail(std::move(found.error()));
  if (!*found) co_return std::nullopt;
  auto version = decode_name_version(**found);
  if (!version) co_return fail(std::move(version.error()));
  co_return std::move(*version);
}

// The map is read upwards, so the newest versions are found from the number of the last one on.
Task<Result<History>> name_history(platform::KeyValue* map, catalog::Name name,
                                   std::uint64_t before, std::size_t limit) {
  const auto newest = co_await find_name(map, {name, std::nullopt});
  if (!newest) co_return fail(newest.error());
  History history;
  if (!*newest) co_return history;
  const std::uint64_t end = std::min(before, (*newest)->version + 1);
  const std::uint64_t begin = end > limit ? end - limit : 1;
  if (begin >= end) co_return history;
  const auto pairs = co_await map->scan(version_key(name.text(), begin),
                                        version_key(name.text(), end), end - begin);
  if (!pairs) co_return fail(pairs.error());
  for (const auto& [key, bytes] : *pairs) {
    auto version = decode_name_version(bytes);
    if (!version) co_return fail(std::move(version.error()));
    history.versions.push_back(std::move(*version));
  }
  std::ranges::reverse(history.versions);
  history.has_more = begin > 1;
  co_return history;
}

Task<Result<NamePage>> list_names(platform::KeyValue* map, ListQuery query) {
  NamePage page;
  const std::string end = behind(name_key(query.prefix));
  std::string from = name_key(query.prefix);
  if (!query.after.empty()) {
    // A prefix stands for all names that begin so; behind a name comes what is longer by a byte.
    const bool is_prefix = !query.delimiter.empty() && query.after.ends_with(query.delimiter);
    std::string behind_last = is_prefix ? behind(name_key(query.after)) : name_key(query.after);
    if (!is_prefix) behind_last += '\0';
    from = std::max(from, behind_last);
  }
  const auto count = [&page] { return page.names.size() + page.prefixes.size(); };
  std::string seen;  // last: a name, or a prefix for all that begin so
  const std::size_t at_once = query.delimiter.empty() ? kScanPairs : kScanPairsBelow;
  for (std::size_t scans = 0; scans < kMostScans + query.limit; ++scans) {
    const auto pairs = co_await map->scan(from, end, at_once);
    if (!pairs) co_return fail(pairs.error());
    bool is_moved = false;  // past a common prefix, to where the next scan begins
    for (const auto& [key, bytes] : *pairs) {
      if (count() == query.limit) {
        page.next = seen;
        co_return page;
      }
      auto version = decode_name_version(bytes);
      if (!version) co_return fail(std::move(version.error()));
      from = key + '\0';
      seen = version->name;
      if (!version->target) continue;
      const std::size_t cut = query.delimiter.empty()
                                  ? std::string::npos
                                  : seen.find(query.delimiter, query.prefix.size());
      if (cut == std::string::npos) {
        page.names.push_back(std::move(*version));
        continue;
      }
      seen.resize(cut + query.delimiter.size());
      page.prefixes.push_back(seen);
      from = behind(name_key(seen));
      is_moved = true;
      break;
    }
    if (!is_moved && pairs->size() < at_once) co_return page;
  }
  // So many were removed that the page is not full: whoever lists goes on.
  page.next = seen;
  co_return page;
}

Task<Result<std::vector<ProviderEntry>>> find_providers(platform::KeyValue* map,
                                                        base::ObjectId address) {
  const std::string from = providers_prefix(address);
  const auto pairs = co_await map->scan(from, behind(from), kMostPerAddress);
  if (!pairs) co_return fail(pairs.error());
  std::vector<ProviderEntry> entries;
  for (const auto& [key, bytes] : *pairs) {
    auto entry = decode_provider_entry(bytes);
    if (!entry) co_return fail(std::move(entry.error()));
    entries.push_back(std::move(*entry));
  }
  co_return entries;
}

Task<Result<std::optional<ManifestFacts>>> find_manifest(platform::KeyValue* map,
                                                         base::ObjectId address) {
  auto found = co_await look_up(map, manifest_key(address));
  if (!found) co_return fail(std::move(found.error()));
  if (!*found) co_return std::nullopt;
  auto facts = decode_manifest_facts(**found);
  if (!facts) co_return fail(std::move(facts.error()));
  co_return *facts;
}

Task<Result<std::vector<std::string>>> pinned_keys(platform::KeyValue* map, std::size_t limit) {
  const std::string from(1, kPinsTable);
  const auto pairs = co_await map->scan(from, behind(from), limit);
  if (!pairs) co_return fail(pairs.error());
  std::vector<std::string> keys;
  for (const auto& [key, nothing] : *pairs) keys.push_back(key.substr(1));
  co_return keys;
}

}  // namespace ron::index
