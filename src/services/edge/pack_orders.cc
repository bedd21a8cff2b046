#include "services/edge/pack_orders.h"

#include <utility>

#include "base/value.h"
#include "services/edge/wires.h"

namespace ron::edge {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;
using platform::Task;

constexpr std::string_view kNoContent = "204";
constexpr std::string_view kNotFound = "404";

// `{"missing":"404","path":"/maps/world.pmtiles"}`.
std::string print(const MountOrder& order) {
  Value::Map fields{{"path", order.path}};
  if (order.missing != MissingTile::Inherited) {
    fields.emplace("missing", order.missing == MissingTile::NoContent ? kNoContent : kNotFound);
  }
  return base::print_json(fields);
}

// What this file has written; anything else in the book is left alone.
std::optional<MountOrder> parse(const std::string& name, const std::string& text) {
  const auto value = base::parse_json(text);
  if (!value) return std::nullopt;
  const Value* const path = value->find("path");
  if (path == nullptr || path->text() == nullptr) return std::nullopt;
  MountOrder order{.name = name, .path = *path->text(), .source = MountSource::Added};
  const Value* const missing = value->find("missing");
  if (missing != nullptr && missing->text() != nullptr) {
    order.missing = *missing->text() == kNotFound ? MissingTile::NotFound : MissingTile::NoContent;
  }
  return order;
}

std::string book_path(const std::string& directory) {
  return directory.empty() ? "" : directory + "/packs.json";
}

}  // namespace

PackOrders::PackOrders(EdgeParts parts, Packs& packs)
    : parts_(std::move(parts)),
      packs_(packs),
      book_(parts_.host.disk, book_path(parts_.directory)),
      queue_(*parts_.topology, kPackOrders, kPackOrders.capacity) {}

Task<Result<>> PackOrders::open() {
  if (!parts_.directory.empty()) {
    const Result<void> made = co_await parts_.host.disk.make_directory(parts_.directory);
    if (!made) co_return fail(made.error());
  }
  co_return co_await book_.open();
}

std::optional<MountOrder> PackOrders::find(const std::string& name) const {
  const std::optional<std::string> text = book_.find(name);
  return text ? parse(name, *text) : std::nullopt;
}

std::vector<MountOrder> PackOrders::added() const {
  std::vector<MountOrder> orders;
  for (const auto& [name, text] : book_.all()) {
    if (auto order = parse(name, text)) orders.push_back(std::move(*order));
  }
  return orders;
}

Task<Result<PackAdded>> PackOrders::add(MountOrder order, Operator by, runtime::Deadline deadline) {
  AddPackJob job;
  job.deadline = deadline;
  job.order = std::move(order);
  job.order.source = MountSource::Added;
  job.by = std::move(by);
  return queue_.ask(std::move(job), kit::WhenFull::Refuse);
}

Task<Result<>> PackOrders::remove(std::string name, Operator by, runtime::Deadline deadline) {
  RemovePackJob job;
  job.deadline = deadline;
  job.name = std::move(name);
  job.by = std::move(by);
  const Result<bool> removed = co_await queue_.ask(std::move(job), kit::WhenFull::Refuse);
  if (!removed) co_return fail(removed.error());
  co_return Result<>();
}

// Not WorkQueue::work(): what was begun is done even if nobody waits for it any more.
Task<void> PackOrders::work(runtime::Shutdown shutdown) {
  for (;;) {
    auto job = co_await queue_.take(shutdown);
    if (!job) co_return;
    co_await std::visit([&](auto& one) { return run(std::move(one), shutdown); }, *job);
  }
}

Task<void> PackOrders::run(AddPackJob job, runtime::Shutdown shutdown) {
  auto added = co_await do_add(std::move(job.order), std::move(job.by), std::move(shutdown));
  std::move(*job.reply).send(std::move(added));
}

Task<void> PackOrders::run(RemovePackJob job, runtime::Shutdown) {
  auto removed = co_await do_remove(std::move(job.name), std::move(job.by));
  std::move(*job.reply).send(std::move(removed));
}

Result<> PackOrders::check_free(const std::string& name) const {
  const PackTablePtr table = packs_.table();
  const MountEntry* const entry = table->find(name);
  if (entry == nullptr) {
    if (table->packs.size() < Packs::kMost) return {};
    return fail(base::Error(Code::Quota, "there are as many packs as there may be")
                    .with("packs", std::to_string(Packs::kMost)));
  }
  switch (entry->order.source) {
    case MountSource::Configured:
      return fail(Code::NotAllowed, "the configuration has the pack " + name + "; change it there");
    case MountSource::Directory:
      return fail(Code::NotAllowed, name + " is in packs_dir; replace or remove the file there");
    case MountSource::Added:
      break;
  }
  return {};
}

Task<Result<PackAdded>> PackOrders::do_add(MountOrder order, Operator by,
                                           runtime::Shutdown shutdown) {
  const Result<> is_free = check_free(order.name);
  if (!is_free) co_return fail(is_free.error());
  const auto refuse = [&](base::Error why) {
    packs_.refuse(order, {}, why, Packs::Refused::Forgotten, by);
    return fail(std::move(why));
  };
  const auto version = co_await parts_.host.disk.version(order.path);
  if (!version) {
    // A directory, or a file that we may not read: nothing is wrong with us.
    base::Error why = version.error();
    if (why.code == base::Code::Internal) why.code = base::Code::Malformed;
    co_return refuse(std::move(why));
  }
  const PackTablePtr before = packs_.table();
  const MountEntry* const there = before->find(order.name);
  const bool is_new = there == nullptr || !there->mount;
  // Asked for again, perhaps because the answer was lost: it is done.
  if (!is_new && there->mount->order == order && there->mounted == *version) {
    co_return PackAdded{there->mount, false};
  }
  const Packs::Opening opening(packs_, order);
  auto verified = co_await packs_.verify(order.path, std::move(shutdown));
  if (!verified) co_return refuse(std::move(verified.error()));
  const Result<> kept = co_await book_.set(order.name, print(order));
  if (!kept) co_return refuse(kept.error());
  auto mounted = co_await packs_.mount(&opening, std::move(*verified), *version, by);
  if (!mounted) co_return refuse(std::move(mounted.error()));
  co_return PackAdded{std::move(*mounted), is_new};
}

Task<Result<bool>> PackOrders::do_remove(std::string name, Operator by) {
  if (packs_.table()->find(name) == nullptr) {
    co_return fail(Code::NotFound, "there is no pack " + name);
  }
  const Result<> is_ours = check_free(name);
  if (!is_ours) co_return fail(is_ours.error());
  const Result<bool> removed = co_await book_.remove(name);
  if (!removed) co_return fail(removed.error());
  packs_.unmount(name, "removed", by);
  co_return true;
}

}  // namespace ron::edge
