#include "services/edge/packs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/background.h"
#include "runtime/wait_either.h"
#include "services/edge/wires.h"

namespace ron::edge {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

namespace {

constexpr platform::BlockingKind kMountPack{"mount_pack", std::chrono::seconds(30)};

}  // namespace

const MountEntry* PackTable::find(std::string_view name) const noexcept {
  const auto found = packs.find(name);
  return found != packs.end() ? &found->second : nullptr;
}

Result<MountPtr> PackTable::mount_of(std::string_view name) const {
  const MountEntry* const entry = find(name);
  if (entry == nullptr) return fail(Code::NotFound, "there is no pack " + std::string(name));
  if (entry->mount) return entry->mount;
  return fail(Code::Degraded,
              entry->is_opening() ? "the pack is being verified" : "the pack could not be mounted");
}

Packs::Packs(EdgeParts parts, PackOpener opener)
    : parts_(std::move(parts)),
      opener_(std::move(opener)),
      tables_(parts_.host.cores, kMountsLock, std::make_shared<const PackTable>()) {
  if (!opener_) {
    const pack::Place place{&parts_.host.disk, &parts_.host.blocking};
    opener_ = [place](std::string path) {
      return pack::open(place, std::move(path), pack::Limits{});
    };
  }
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    outcomes_[i] = &parts_.topology->meters().counter(metrics::kTiles, {metrics::kTileOutcomes[i]});
  }
  apply(*parts_.settings->get());
}

// Only cores[0] changes it, so that nothing comes between reading it and this.
void Packs::publish(PackTable next) {
  tables_.set(std::make_shared<const PackTable>(std::move(next)));
}

void Packs::apply(const EdgeConfig& config) {
  PackTable next = *table();
  next.missing = config.tiles.missing;
  next.limits = {.cap_bytes = config.server.decode_abs_cap_bytes.bytes,
                 .ratio_max = config.server.decode_ratio_max};
  next.public_url = config.tiles.public_url;
  while (next.public_url.ends_with('/')) next.public_url.pop_back();
  publish(std::move(next));
}

void Packs::tell(EventKind kind, const std::string& name, std::string detail, const Operator& by,
                 std::uint64_t bytes) {
  parts_.events->send({.kind = kind,
                       .subject = name,
                       .detail = std::move(detail),
                       .bytes = bytes,
                       .token = by.token,
                       .corr_id = by.corr_id});
}

Task<Result<pack::PackPtr>> Packs::verify(std::string path, runtime::Shutdown shutdown) {
  runtime::Background<Result<pack::PackPtr>> opening(opener_(std::move(path)));
  if (!opening.done()) {
    const runtime::First first = co_await runtime::wait_either(
        opening.finished(), runtime::StopOp{std::move(shutdown)}, runtime::Deadline());
    if (first == runtime::First::Other) {
      co_return fail(Code::Canceled, "the server stops before the pack is verified");
    }
  }
  co_return opening.take();
}

// Besides what it takes the place of.
Result<> Packs::check_room(const std::string& name, const pack::Info& info) const {
  std::uint64_t bytes = info.memory_bytes;
  const PackTablePtr now = table();
  for (const auto& [other, entry] : now->packs) {
    if (other != name && entry.mount) bytes += entry.mount->info().memory_bytes;
  }
  if (bytes <= kMostIndexBytes) return {};
  return fail(base::Error(Code::Quota, "the indexes of all packs take too much memory")
                  .with("bytes", std::to_string(bytes))
                  .with("limit", std::to_string(kMostIndexBytes)));
}

// Metadata may be megabytes of JSON: not on a core.
Task<Result<MountPtr>> Packs::mount(const Opening* opening, pack::PackPtr verified,
                                    platform::FileVersion version, Operator by) {
  const MountOrder& order = opening->order();
  const auto make = [order, verified, generation = parts_.loader->new_generation(),
                     arena = &parts_.host.send_arena] {
    return std::make_shared<const Mount>(order, verified, generation, *arena);
  };
  Result<MountPtr> made =
      co_await parts_.host.blocking.run(kMountPack, [make]() -> MountPtr { return make(); });
  if (!made) co_return made;
  if (!opening->is_wanted()) {
    co_return fail(Code::Canceled, "the pack was removed or replaced while it was verified");
  }
  const Result<> fits = check_room(order.name, verified->info());
  if (!fits) co_return fail(fits.error());
  PackTable next = *table();
  next.packs[order.name] = {.order = order, .mount = *made, .mounted = version, .tried = version};
  publish(std::move(next));
  tell(EventKind::PackMounted, order.name, (*made)->file_tag + " " + order.path, by,
       verified->info().bytes);
  co_return made;
}

void Packs::confirm(const MountOrder& order) {
  PackTable next = *table();
  MountEntry& entry = next.packs.at(order.name);
  if (entry.order != order) {
    entry.mount = std::make_shared<const Mount>(order, *entry.mount);
  }
  entry.order = order;
  entry.tried = entry.mounted;
  entry.error.clear();
  publish(std::move(next));
}

Packs::Opening::Opening(Packs& packs, MountOrder order)
    : packs_(packs), order_(std::move(order)), number_(++packs.last_opening_) {
  PackTable next = *packs_.table();
  MountEntry& entry = next.packs[order_.name];
  if (!entry.mount) entry.order = order_;
  entry.opening = number_;
  packs_.publish(std::move(next));
}

bool Packs::Opening::is_wanted() const {
  const PackTablePtr table = packs_.table();
  const MountEntry* const entry = table->find(order_.name);
  return entry != nullptr && entry->opening == number_;
}

Packs::Opening::~Opening() {
  if (!is_wanted()) return;
  PackTable next = *packs_.table();
  const auto found = next.packs.find(order_.name);
  found->second.opening = 0;
  if (!found->second.mount && found->second.error.empty()) next.packs.erase(found);
  packs_.publish(std::move(next));
}

void Packs::refuse(const MountOrder& order, platform::FileVersion version, const base::Error& why,
                   Refused refused, const Operator& by) {
  if (refused == Refused::Kept) {
    PackTable next = *table();
    MountEntry& entry = next.packs[order.name];
    const bool is_known = entry.error == why.message && entry.tried == version;
    if (is_known && (entry.mount || entry.order == order)) return;
    if (!entry.mount) entry.order = order;
    entry.error = why.message;
    entry.tried = version;
    publish(std::move(next));
  }
  if (why.code != Code::Canceled) tell(EventKind::PackRefused, order.name, why.message, by);
}

void Packs::unmount(const std::string& name, std::string why, const Operator& by) {
  PackTable next = *table();
  if (next.packs.erase(name) == 0) return;
  publish(std::move(next));
  tell(EventKind::PackRemoved, name, std::move(why), by);
}

std::vector<std::string> Packs::missing() const {
  std::vector<std::string> out;
  const PackTablePtr now = table();
  for (const auto& [name, entry] : now->packs) {
    const bool is_wanted = entry.order.source == MountSource::Configured;
    if (is_wanted && !entry.mount) {
      out.push_back("pack " + name + (entry.is_opening() ? " is being verified" : ""));
    }
  }
  return out;
}

std::size_t Packs::mounted() const {
  const PackTablePtr now = table();
  return static_cast<std::size_t>(std::ranges::count_if(
      now->packs, [](const auto& each) { return each.second.mount != nullptr; }));
}

}  // namespace ron::edge
