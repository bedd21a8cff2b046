// A core under test, on volumes that could be disks, in a simulated world.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "config/load.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"
#include "services/storage/core.h"
#include "services/storage/test_volume.h"

namespace ron::storage::testing {

inline base::Buffer buffer(const std::string& text) {
  base::Buffer bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline std::string noise(std::size_t size) {
  std::string text(size, '\0');
  platform::FastRandom random(size);
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

// A core on volumes that could be disks: the memory tier is between them and the readers.
class CoreFixture : public ::testing::Test {
 protected:
  using Flags = std::vector<std::string>;

  void start(const Flags& flags = {}, std::vector<std::uint64_t> capacities = {base::kGiB}) {
    config::Schema schema;
    schema.add(storage_section());
    config::Inputs inputs;
    inputs.flags = flags;
    const auto config = config::load(schema, inputs);
    ASSERT_TRUE(config) << config.error().text();
    core_.emplace(topology_, *(*config)->get(storage_section()), node_.host());
    Volumes made;
    for (const std::uint64_t capacity : capacities) {
      auto volume = std::make_unique<TestVolume>(capacity, arena_, node_.clock());
      volumes_.push_back(volume.get());
      made.all.push_back(std::move(volume));
    }
    core_->adopt(std::move(made));
  }
  void start_workers() {
    get_worker_.emplace(node_.core(), core_->get_worker({}));
    put_worker_.emplace(node_.core(), core_->put_worker({}));
  }
  void TearDown() override {
    get_worker_.reset();
    put_worker_.reset();
  }

  // A task on the node; its value once it has one.
  template <class T>
  class Asked {
   public:
    Asked(platform::Executor& core, platform::Task<T> task)
        : root_(core, keep(this, std::move(task))) {}
    [[nodiscard]] bool done() const noexcept { return value_.has_value(); }
    T& operator*() { return *value_; }
    T* operator->() { return &*value_; }

   private:
    static platform::Task<void> keep(Asked* self, platform::Task<T> task) {
      T value = co_await task;
      self->value_.emplace(std::move(value));
    }
    std::optional<T> value_;
    platform::test::Root root_;
  };
  template <class T>
  T get(platform::Task<T> task) {
    Asked<T> asked(node_.core(), std::move(task));
    EXPECT_EQ(world_.run_until([&] { return asked.done(); }, std::chrono::minutes(10)),
              platform::sim::Outcome::Done);
    return std::move(*asked);
  }
  base::ObjectId put(const std::string& text, const std::string& tenant = "") {
    const auto stored = get(core_->put({buffer(text), std::nullopt, tenant}, soon()));
    EXPECT_TRUE(stored);
    return stored ? stored->id : base::ObjectId();
  }
  LocatedObject found(const base::ObjectId& id) { return get(core_->locate(id, {})).value(); }
  runtime::Deadline soon() { return runtime::Deadline(world_.now() + std::chrono::minutes(1)); }
  // Of all series, or of those with this value of a label.
  std::uint64_t counted(std::string_view name, std::string_view label = {}) {
    std::uint64_t sum = 0;
    for (const runtime::FamilyReading& family : meters_.collect()) {
      if (family.decl->name != name) continue;
      for (const auto& series : family.series) {
        const bool wanted =
            label.empty() || std::ranges::find(series.labels, label) != series.labels.end();
        if (wanted) sum += series.count;
      }
    }
    return sum;
  }

  platform::sim::World world_{1};
  platform::sim::Node& node_ = world_.add_node();
  platform::NoSendArena arena_;
  runtime::Meters meters_{"svc-storage"};
  runtime::Topology topology_{kWires, meters_};
  std::vector<TestVolume*> volumes_;
  std::optional<Core> core_;
  std::optional<platform::test::Root> get_worker_;
  std::optional<platform::test::Root> put_worker_;
};

}  // namespace ron::storage::testing
