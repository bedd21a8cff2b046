#include "platform/sim/key_value.h"

#include <set>
#include <utility>
#include <vector>

#include "platform/sim/operation.h"
#include "platform/sim/world.h"

namespace ron::platform::sim {
namespace {

using Map = std::map<std::string, std::string, std::less<>>;

std::unexpected<base::Error> failed(base::Code code, std::string_view path,
                                    std::string_view reason) {
  return base::fail(code, "key-value map '" + std::string(path) + "': " + std::string(reason));
}

std::unexpected<base::Error> damaged(std::string_view path) {
  return failed(base::Code::IntegrityFail, path, "damaged");
}

std::unexpected<base::Error> gone(std::string_view path) {
  return failed(base::Code::StorageBusy, path, "I/O error");
}

void apply_batch(const KeyValueBatch& batch, Map& map) {
  for (const KeyValueBatch::Change& change : batch.changes) {
    if (change.value) {
      map.insert_or_assign(change.key, *change.value);
    } else {
      map.erase(change.key);
    }
  }
}

}  // namespace

struct SimKeyValues::Image {
  Map now;      // what readers see
  Map flushed;  // what a crash cannot take
  std::vector<KeyValueBatch> unflushed;
  std::uint64_t batches_flushed = 0;
  bool open = false;
  bool damaged = false;
  std::set<std::string, std::less<>> damaged_keys;

  [[nodiscard]] std::uint64_t batches() const noexcept {
    return batches_flushed + unflushed.size();
  }
  // The first batches of all until `number` become durable.
  void flush(std::uint64_t number) {
    if (number <= batches_flushed) return;
    const auto count = static_cast<std::ptrdiff_t>(number - batches_flushed);
    for (auto batch = unflushed.begin(); batch != unflushed.begin() + count; ++batch) {
      apply_batch(*batch, flushed);
    }
    unflushed.erase(unflushed.begin(), unflushed.begin() + count);
    batches_flushed = number;
  }
};

struct SimKeyValues::Opened {
  SimKeyValues& maps;
  std::shared_ptr<Image> image;
  std::string path;
  std::uint64_t cuts;
  bool closed = false;

  // From before a power cut, or closed while this operation was under way.
  [[nodiscard]] bool dead() const noexcept { return closed || cuts != maps.power_.cuts; }
};

class SimKeyValue final : public KeyValue {
 public:
  SimKeyValue(std::shared_ptr<SimKeyValues::Opened> opened, KeyValueOptions options)
      : opened_(std::move(opened)), options_(options) {}
  ~SimKeyValue() override {
    if (!opened_->dead()) {
      opened_->maps.lose(*opened_->image);
      opened_->image->open = false;
    }
    opened_->closed = true;
  }

  base::Result<Found> try_get(std::string_view key, std::string& value) override {
    SimKeyValues& maps = opened_->maps;
    if (opened_->dead()) return gone(opened_->path);
    if (maps.world_.chance(maps.options_.unknown)) return Found::Unknown;
    const SimKeyValues::Image& image = *opened_->image;
    if (image.damaged_keys.contains(key)) return damaged(opened_->path);
    const auto found = image.now.find(key);
    if (found == image.now.end()) return Found::No;
    value = found->second;
    return Found::Yes;
  }

  Task<base::Result<std::optional<std::string>>> get(std::string key) override {
    using Value = std::optional<std::string>;
    auto effect = [opened = opened_, wanted = std::move(key)]() -> base::Result<Value> {
      const base::Result<void> fine = readable(*opened);
      if (!fine) return base::fail(fine.error());
      const SimKeyValues::Image& image = *opened->image;
      if (image.damaged_keys.contains(wanted)) return damaged(opened->path);
      const auto found = image.now.find(wanted);
      return found == image.now.end() ? Value() : Value(found->second);
    };
    base::Result<Value> result = co_await opened_->maps.run<Value>(
        opened_->maps.options_.read_takes, opened_->path, std::move(effect));
    co_return result;
  }

  Task<base::Result<std::vector<KeyValuePair>>> scan(std::string from, std::string until,
                                                     std::size_t limit) override {
    using Pairs = std::vector<KeyValuePair>;
    auto effect = [opened = opened_, first = std::move(from), end = std::move(until),
                   limit]() -> base::Result<Pairs> {
      const base::Result<void> fine = readable(*opened);
      if (!fine) return base::fail(fine.error());
      const SimKeyValues::Image& image = *opened->image;
      Pairs pairs;
      for (auto at = image.now.lower_bound(first); at != image.now.end(); ++at) {
        if (pairs.size() == limit || (!end.empty() && at->first >= end)) break;
        if (image.damaged_keys.contains(at->first)) return damaged(opened->path);
        pairs.emplace_back(*at);
      }
      return pairs;
    };
    base::Result<Pairs> result = co_await opened_->maps.run<Pairs>(
        opened_->maps.options_.read_takes, opened_->path, std::move(effect));
    co_return result;
  }

  Task<base::Result<void>> write(KeyValueBatch batch) override {
    auto effect = [opened = opened_, changes = std::move(batch)]() mutable -> base::Result<void> {
      SimKeyValues& maps = opened->maps;
      if (opened->dead()) return gone(opened->path);
      const base::Result<void> fine =
          maps.check(KeyValueOp::Write, maps.world_.faults().fail_write, opened->path);
      if (!fine) return fine;
      SimKeyValues::Image& image = *opened->image;
      maps.world_.trace(TraceKind::KeyValueWrite, maps.node_, changes.changes.size());
      apply_batch(changes, image.now);
      for (const KeyValueBatch::Change& change : changes.changes) {
        image.damaged_keys.erase(change.key);
      }
      image.unflushed.push_back(std::move(changes));
      return {};
    };
    base::Result<void> result = co_await opened_->maps.run<void>(opened_->maps.options_.write_takes,
                                                                 opened_->path, std::move(effect));
    co_return result;
  }

  Task<base::Result<void>> flush() override {
    SimKeyValues& maps = opened_->maps;
    const FaultPlan& plan = maps.world_.faults();
    const Duration takes =
        maps.world_.chance(plan.slow_sync) ? plan.slow_sync_lasts : maps.options_.flush_takes;
    auto effect = [opened = opened_, number = opened_->image->batches()]() -> base::Result<void> {
      SimKeyValues& of = opened->maps;
      if (opened->dead()) return gone(opened->path);
      const base::Result<void> fine =
          of.check(KeyValueOp::Flush, of.world_.faults().fail_sync, opened->path);
      if (!fine) return fine;
      of.world_.trace(TraceKind::KeyValueFlush, of.node_, number);
      opened->image->flush(number);
      return {};
    };
    base::Result<void> result = co_await maps.run<void>(takes, opened_->path, std::move(effect));
    co_return result;
  }

  [[nodiscard]] std::uint64_t memory_bytes() const override { return options_.cache_bytes; }

 private:
  static base::Result<void> readable(const SimKeyValues::Opened& opened) {
    if (opened.dead()) return gone(opened.path);
    return opened.maps.check(KeyValueOp::Read, opened.maps.world_.faults().fail_read, opened.path);
  }

  std::shared_ptr<SimKeyValues::Opened> opened_;
  KeyValueOptions options_;
};

SimKeyValues::SimKeyValues(World& world, NodeId node, SimKeyValueOptions options)
    : world_(world), node_(node), options_(options) {}

SimKeyValues::~SimKeyValues() = default;

template <class T>
Task<base::Result<T>> SimKeyValues::run(Duration takes, std::string path,
                                        std::move_only_function<base::Result<T>()> effect) {
  return perform<T>(&world_, &power_, takes, gone(path).error(), std::move(effect));
}

base::Result<void> SimKeyValues::check(KeyValueOp op, PerMillion rate, std::string_view path) {
  Ordered& ordered = fail_next_[static_cast<std::size_t>(op)];
  const bool told = ordered.count != 0;
  if (!told && !world_.chance(rate)) return {};
  if (told) --ordered.count;
  world_.trace(TraceKind::Fault, node_, static_cast<std::uint64_t>(op));
  return failed(told ? ordered.code : base::Code::StorageBusy, path, "injected failure");
}

base::Result<std::unique_ptr<KeyValue>> SimKeyValues::open_now(const std::string& path,
                                                               KeyValueOptions options) {
  const base::Result<void> fine = check(KeyValueOp::Open, 0, path);
  if (!fine) return base::fail(fine.error());
  std::shared_ptr<Image>& image = images_[path];
  if (image == nullptr) image = std::make_shared<Image>();
  if (image->open) return failed(base::Code::StorageBusy, path, "already open");
  if (image->damaged) return damaged(path);
  image->open = true;
  auto opened = std::make_shared<Opened>(*this, image, path, power_.cuts);
  return std::make_unique<SimKeyValue>(std::move(opened), options);
}

Task<base::Result<std::unique_ptr<KeyValue>>> SimKeyValues::open(std::string path,
                                                                 KeyValueOptions options) {
  using Result = std::unique_ptr<KeyValue>;
  auto effect = [this, path, options] { return open_now(path, options); };
  base::Result<Result> result = co_await run<Result>(options_.open_takes, path, std::move(effect));
  co_return result;
}

Task<base::Result<void>> SimKeyValues::destroy(std::string path) {
  auto effect = [this, path]() -> base::Result<void> {
    const base::Result<void> fine = check(KeyValueOp::Open, 0, path);
    if (!fine) return fine;
    const auto found = images_.find(path);
    if (found == images_.end()) return {};
    if (found->second->open) return failed(base::Code::StorageBusy, path, "still open");
    images_.erase(found);
    return {};
  };
  base::Result<void> result = co_await run<void>(options_.open_takes, path, std::move(effect));
  co_return result;
}

void SimKeyValues::lose(Image& image) {
  const std::uint64_t pending = image.unflushed.size();
  if (pending == 0) return;
  const std::uint64_t kept = world_.random().below(pending + 1);
  world_.trace(TraceKind::KeyValueLost, node_, pending - kept);
  image.flush(image.batches_flushed + kept);
  image.unflushed.clear();
  image.now = image.flushed;
}

void SimKeyValues::lose_all() {
  for (auto& [path, image] : images_) {
    lose(*image);
    image->open = false;
  }
}

void SimKeyValues::power_cut() {
  power_.cut();
  lose_all();
}

void SimKeyValues::end_process() {
  power_cut();
  restart();
}

void SimKeyValues::fail_next(KeyValueOp op, std::uint32_t count, base::Code code) noexcept {
  fail_next_[static_cast<std::size_t>(op)] = {count, code};
}

bool SimKeyValues::damage(std::string_view path) {
  const auto found = images_.find(path);
  if (found == images_.end()) return false;
  found->second->damaged = true;
  return true;
}

bool SimKeyValues::damage_key(std::string_view path, std::string_view key) {
  const auto found = images_.find(path);
  if (found == images_.end() || !found->second->now.contains(key)) return false;
  found->second->damaged_keys.emplace(key);
  return true;
}

std::string* SimKeyValues::value_at(std::string_view path, std::string_view key) {
  const auto image = images_.find(path);
  if (image == images_.end()) return nullptr;
  const auto found = image->second->now.find(key);
  return found == image->second->now.end() ? nullptr : &found->second;
}

}  // namespace ron::platform::sim
