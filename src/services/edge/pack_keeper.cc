#include "services/edge/pack_keeper.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "runtime/backoff.h"
#include "runtime/watch.h"

namespace ron::edge {
namespace {

using base::Code;
using platform::Task;

constexpr std::chrono::seconds kLookEvery{2};
// Trying may mean to read all of a large file.
constexpr runtime::Backoff kRetry{.base = kLookEvery, .cap = std::chrono::minutes(5)};
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

// A file that is wrong stays wrong until it is another; everything else may pass.
bool is_because_of_file(Code code) noexcept {
  return code == Code::Malformed || code == Code::DecodedCap || code == Code::DecodedRatio;
}

}  // namespace

Task<void> PackKeeper::keep(runtime::Shutdown shutdown) {
  auto settings = parts_.settings->subscribe();
  for (;;) {
    settings.see();
    co_await look(shutdown);
    packs_.settle();
    const runtime::Waited waited =
        co_await settings.changed(runtime::Deadline::in(kLookEvery), shutdown);
    if (waited != runtime::Waited::Ready && waited != runtime::Waited::TimedOut) co_return;
  }
}

Task<void> PackKeeper::look(runtime::Shutdown shutdown) {
  const std::string directory = parts_.settings->get()->packs_dir;
  std::optional<Orders> listed = Orders();
  if (!directory.empty()) listed = co_await in_directory(directory);
  // Another directory since a reload in between is looked at next, which is at once.
  if (directory != parts_.settings->get()->packs_dir) listed.reset();
  const bool is_directory_known = listed.has_value();
  in_directory_ = std::move(listed).value_or(Orders());
  const Orders orders = all_wanted();
  let_go(orders, is_directory_known);
  for (const auto& [name, order] : orders) {
    if (shutdown.requested()) co_return;
    co_await follow(name, shutdown);
  }
}

PackKeeper::Orders PackKeeper::all_wanted() const {
  Orders orders;
  const SettingsPtr config = parts_.settings->get();
  for (const PackConfig& row : config->packs) orders.emplace(row.name, order_of(row));
  for (MountOrder& order : orders_.added()) orders.emplace(order.name, std::move(order));
  orders.insert(in_directory_.begin(), in_directory_.end());
  return orders;
}

std::optional<MountOrder> PackKeeper::wanted(const std::string& name) const {
  const SettingsPtr config = parts_.settings->get();
  const auto row = std::ranges::find(config->packs, name, &PackConfig::name);
  if (row != config->packs.end()) return order_of(*row);
  if (auto added = orders_.find(name)) return added;
  const auto found = in_directory_.find(name);
  return found != in_directory_.end() ? std::optional(found->second) : std::nullopt;
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
    } else if (orders.contains(std::string(stem))) {
      trouble += entry.name + " has the name of another pack; ";
    } else if (orders.size() == Packs::kMost) {
      trouble += "there are more packs than can be mounted";
      break;
    } else {
      orders.emplace(stem, MountOrder{.name = std::string(stem),
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
void PackKeeper::let_go(const Orders& wanted, bool is_directory_known) {
  const auto is_unwanted = [&](const auto& each) { return !wanted.contains(each.first); };
  std::erase_if(coming_, is_unwanted);
  std::erase_if(retries_, is_unwanted);
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
        if (!entry.is_opening()) packs_.unmount(name, "removed", {});
        break;
    }
  }
}

// A file that is new or other than before is taken once it has stayed the same for a look: until
// then somebody may be writing it. At the start there is no before.
bool PackKeeper::is_being_written(const MountOrder& order, const platform::FileVersion& version) {
  if (!packs_.is_settled()) return false;
  Seen now{.path = order.path, .version = version};
  const auto [seen, is_new] = coming_.try_emplace(order.name, now);
  if (!is_new && seen->second == now) {
    coming_.erase(seen);
    return false;
  }
  seen->second = std::move(now);
  return true;
}

bool PackKeeper::is_due(const std::string& name) const {
  const auto retry = retries_.find(name);
  return retry != retries_.end() && retry->second.due <= platform::Executor::current()->now();
}

void PackKeeper::refuse(const MountOrder& order, const platform::FileVersion& version,
                        const base::Error& why) {
  if (why.code == Code::Canceled) return;
  packs_.refuse(order, version, why, Packs::Refused::Kept, {});
  if (is_because_of_file(why.code)) {
    retries_.erase(order.name);
    return;
  }
  Retry& retry = retries_[order.name];
  retry.due = platform::Executor::current()->now() + kRetry.delay(retry.failures, jitter_);
  ++retry.failures;
}

Task<void> PackKeeper::follow(std::string name, runtime::Shutdown shutdown) {
  const std::optional<MountOrder> order = wanted(name);
  if (!order) co_return;
  const auto version = co_await parts_.host.disk.version(order->path);
  if (wanted(name) != order) co_return;
  const PackTablePtr table = packs_.table();
  const MountEntry* const entry = table->find(name);
  if (entry != nullptr && entry->is_opening()) co_return;  // an operator replaces it
  if (entry == nullptr && table->packs.size() >= Packs::kMost) co_return;
  if (!version) {
    packs_.refuse(*order, {}, version.error(), Packs::Refused::Kept, {});
    co_return;
  }
  const bool is_mounted = entry != nullptr && entry->mount && entry->order.path == order->path &&
                          entry->mounted == *version;
  if (is_mounted) {
    if (entry->order != *order || !entry->error.empty()) packs_.confirm(*order);
    co_return;
  }
  const bool was_refused = entry != nullptr && !entry->error.empty() && entry->tried == *version;
  if (was_refused ? !is_due(name) : is_being_written(*order, *version)) co_return;
  co_await open(*order, *version, std::move(shutdown));
}

Task<void> PackKeeper::open(MountOrder order, platform::FileVersion version,
                            runtime::Shutdown shutdown) {
  const Packs::Opening opening(packs_, order);
  auto verified = co_await packs_.verify(order.path, std::move(shutdown));
  if (!opening.is_wanted() || wanted(order.name) != order) co_return;
  if (!verified) {
    refuse(order, version, verified.error());
    co_return;
  }
  const auto mounted = co_await packs_.mount(&opening, std::move(*verified), version, {});
  if (mounted) {
    retries_.erase(order.name);
  } else {
    refuse(order, version, mounted.error());
  }
}

}  // namespace ron::edge
