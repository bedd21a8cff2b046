#include "services/edge/pack_keeper.h"

#include <array>
#include <chrono>
#include <utility>

#include "runtime/watch.h"

namespace ron::edge {
namespace {

using platform::Task;

constexpr std::chrono::seconds kLookEvery{2};
constexpr std::array<std::string_view, 2> kExtensions = {".pmtiles", ".mbtiles"};

// `world` of `world.pmtiles`; empty: it is no pack.
std::string_view stem_of(std::string_view file) noexcept {
  for (const std::string_view extension : kExtensions) {
    if (file.ends_with(extension)) return file.substr(0, file.size() - extension.size());
  }
  return "";
}

MountOrder order_of(const PackConfig& row) {
  return {.name = row.name,
          .path = row.path,
          .missing = row.missing,
          .source = MountSource::Configured};
}

}  // namespace

Task<void> PackKeeper::keep(runtime::Shutdown shutdown) {
  auto settings = parts_.settings->subscribe();
  for (;;) {
    co_await look(settings.see(), shutdown);
    packs_.settle();
    const runtime::Waited waited =
        co_await settings.changed(runtime::Deadline::in(kLookEvery), shutdown);
    if (waited != runtime::Waited::Ready && waited != runtime::Waited::TimedOut) co_return;
  }
}

// A name that several want belongs to the configuration, then to what was added.
Task<void> PackKeeper::look(SettingsPtr config, runtime::Shutdown shutdown) {
  std::map<std::string, MountOrder> wanted;
  for (const PackConfig& row : config->packs) wanted.emplace(row.name, order_of(row));
  for (MountOrder& order : orders_.added()) wanted.emplace(order.name, std::move(order));
  bool is_directory_known = true;
  if (!config->packs_dir.empty()) {
    auto listed = co_await in_directory(config->packs_dir);
    is_directory_known = listed.has_value();
    if (listed) {
      for (MountOrder& order : *listed) wanted.emplace(order.name, std::move(order));
    }
  }
  let_go(wanted, is_directory_known);
  for (const auto& [name, order] : wanted) {
    if (shutdown.requested()) co_return;
    co_await follow(order, shutdown);
  }
}

Task<std::optional<PackKeeper::Orders>> PackKeeper::in_directory(std::string directory) {
  const auto listed = co_await parts_.host.disk.list(directory);
  if (!listed) {
    complain(listed.error().message);
    co_return std::nullopt;
  }
  Orders orders;
  std::string trouble;
  for (const platform::DirectoryEntry& entry : *listed) {
    const std::string_view stem = stem_of(entry.name);
    if (entry.is_directory || stem.empty() || entry.name.starts_with('.')) continue;
    if (!is_pack_name(stem)) {
      trouble += entry.name + " has no name for a URL: lower-case letters, digits, . _ -; ";
    } else if (!orders.empty() && orders.back().name == stem) {
      trouble += entry.name + " has the name of another pack; ";
    } else if (orders.size() == Packs::kMost) {
      trouble += "there are more packs than can be mounted";
      break;
    } else {
      orders.push_back({.name = std::string(stem),
                        .path = directory + "/" + entry.name,
                        .source = MountSource::Directory});
    }
  }
  complain(std::move(trouble));
  co_return orders;
}

// Once, and again when it is another.
void PackKeeper::complain(std::string trouble) {
  if (trouble == trouble_) return;
  trouble_ = std::move(trouble);
  if (!trouble_.empty()) parts_.log.warn("packs_dir", {{"what", trouble_}});
}

// What operators are adding just now is theirs, and a directory that cannot be read says nothing.
void PackKeeper::let_go(const std::map<std::string, MountOrder>& wanted, bool is_directory_known) {
  const PackTablePtr table = packs_.table();
  for (const auto& [name, entry] : table->packs) {
    if (wanted.contains(name)) continue;
    switch (entry.order.source) {
      case MountSource::Configured:
        packs_.unmount(name, "not in the configuration any more", {});
        break;
      case MountSource::Directory:
        if (is_directory_known) packs_.unmount(name, "not in packs_dir any more", {});
        break;
      case MountSource::Added:
        if (!entry.is_opening) packs_.unmount(name, "removed", {});
        break;
    }
  }
}

// A file that is new or other than before is taken once it has stayed the same for a look: until
// then somebody may be writing it. At the start there is no before.
bool PackKeeper::is_being_written(const MountOrder& order, const platform::FileVersion& version) {
  if (order.source != MountSource::Directory || !packs_.is_settled()) return false;
  const auto [seen, is_new] = coming_.try_emplace(order.name, version);
  if (!is_new && seen->second == version) {
    coming_.erase(seen);
    return false;
  }
  seen->second = version;
  return true;
}

Task<void> PackKeeper::follow(MountOrder order, runtime::Shutdown shutdown) {
  const auto version = co_await parts_.host.disk.version(order.path);
  const PackTablePtr table = packs_.table();
  const MountEntry* const entry = table->find(order.name);
  if (entry != nullptr && entry->is_opening) co_return;  // an operator replaces it
  if (entry == nullptr && table->packs.size() >= Packs::kMost) co_return;
  if (!version) {
    const bool is_known = entry != nullptr && entry->error == version.error().message;
    if (!is_known) packs_.refuse(order, {}, version.error(), Packs::Refused::Kept, {});
    co_return;
  }
  const bool is_mounted = entry != nullptr && entry->mount && entry->order.path == order.path &&
                          entry->mounted == *version;
  if (is_mounted) {
    if (entry->order != order || !entry->error.empty()) packs_.confirm(order);
    co_return;
  }
  const bool was_refused = entry != nullptr && !entry->error.empty() && entry->tried == *version;
  if (was_refused || is_being_written(order, *version)) co_return;
  const Packs::Opening opening(packs_, order);
  auto verified = co_await packs_.verify(order.path, std::move(shutdown));
  if (!verified) {
    packs_.refuse(order, *version, verified.error(), Packs::Refused::Kept, {});
    co_return;
  }
  const auto mounted = co_await packs_.mount(order, std::move(*verified), *version, {});
  if (!mounted) packs_.refuse(order, *version, mounted.error(), Packs::Refused::Kept, {});
}

}  // namespace ron::edge
