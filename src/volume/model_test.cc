// The property everything else serves: whatever was acknowledged is there, whatever was
// acknowledged as gone is gone, and nothing is there in part, after any sequence of power cuts,
// crashes, compactions and lost indexes.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "volume/test_volume.h"

namespace ron::volume {
namespace {

using namespace std::chrono_literals;
using base::Code;

enum class Presence : std::uint8_t { Absent, Present, Either };

struct ModelObject {
  std::vector<std::byte> bytes;
  base::ObjectId id;
  Presence presence = Presence::Absent;
  bool busy = false;  // a write is under way
};

struct ModelUpload {
  UploadId id;
  std::size_t object = 0;
  bool begun = false;     // acknowledged
  bool doubtful = false;  // its end was submitted and not acknowledged
  bool over = false;
  std::set<std::uint64_t> parts;      // acknowledged
  std::set<std::uint64_t> submitted;  // perhaps there
  bool busy = false;
};

// One machine's history against what it acknowledged.
class History {
 public:
  History(std::uint64_t seed, Options options, platform::sim::FaultPlan faults = {})
      : machine_(seed), random_(seed + 77), options_(std::move(options)), faults_(faults) {
    const std::size_t sizes[] = {0, 1, 100, 3000, 5000, 20000, 66000, 130000};
    for (const std::size_t size : sizes) add_object(size);
    for (int i = 0; i < 4; ++i) add_object(200 + 100 * static_cast<std::size_t>(i));
    if (seed % 8 == 0) add_object(kPartBytes + 70000);
  }

  // What was violated; empty if nothing.
  std::string run(int lives) {
    for (int i = 0; i < lives && violation_.empty(); ++i) live(i + 1 == lives);
    if (violation_.empty()) compare_with_rebuilt();
    return violation_;
  }

 private:
  void add_object(std::size_t size) {
    ModelObject object;
    object.bytes = sample_bytes(size, objects_.size());
    object.id = b3::hash(object.bytes);
    objects_.push_back(std::move(object));
  }
  void violate(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  void start() {
    life_ = std::make_unique<Life>(machine_, options_);
    if (!life_->opened) return violate("it does not open: " + life_->opened.error().message);
    life_->wait_readable();
  }

  void live(bool last) {
    start();
    check_everything();
    const std::uint64_t steps = random_.below(40);
    machine_.world.faults() = faults_;
    for (std::uint64_t i = 0; i < steps && violation_.empty(); ++i) step();
    machine_.world.faults() = {};
    if (!violation_.empty()) return;
    switch (last ? 0 : random_.below(4)) {
      case 0:
        settle();
        check_everything();
        if (violation_.empty()) life_->stop();
        end_life();
        break;
      case 1:
        crash();
        break;
      default:
        power_cut();
    }
    if (random_.below(4) == 0) lose_index();
  }

  void settle() {
    for (int i = 0; i < 1000 && !outstanding_.empty(); ++i) advance(1ms);
    if (!outstanding_.empty()) violate("a write is never answered");
  }
  void end_life() {
    outstanding_.clear();
    life_.reset();
    for (ModelObject& object : objects_) object.busy = false;
    for (ModelUpload& upload : uploads_) upload.busy = false;
  }
  void crash() {
    outstanding_.clear();
    end_life();
    machine_.node.key_values().end_process();
  }
  void power_cut() {
    machine_.node.power_cut();
    end_life();
    machine_.node.restart();
  }
  void lose_index() {
    for (int i = 1; i < 20; ++i) {
      machine_.node.key_values().damage("/data/index." + std::to_string(i));
    }
  }

  void advance(base::Duration time) {
    machine_.world.run_for(time);
    std::erase_if(outstanding_, [](const auto& poll) { return poll(); });
  }

  void step() {
    const std::uint64_t what = random_.below(20);
    if (what < 7) {
      submit_put();
    } else if (what < 10) {
      submit_remove();
    } else if (what < 15) {
      submit_upload();
    } else if (what == 15) {
      life_->volume().request_compaction();
      advance(std::chrono::microseconds(1'000'000 + random_.below(20'000)));
    } else {
      advance(std::chrono::microseconds(random_.below(3'000)));
    }
  }

  ModelObject* idle_object() {
    ModelObject& object = objects_[random_.below(objects_.size())];
    return object.busy ? nullptr : &object;
  }

  // A write may fail, if something was made to: nobody knows then what became of it.
  template <class T>
  bool failed(const base::Result<T>& answer, const std::string& what) {
    if (answer || answer.error().code == Code::NotFound) return false;
    if (!faulty()) violate(what + " fails: " + answer.error().message);
    return true;
  }
  [[nodiscard]] bool faulty() const { return faults_.fail_write + faults_.fail_sync != 0; }

  // Remembers a write; `acknowledged` is called with its answer.
  template <class T, class Then>
  void watch(Write<T> write, Then then) {
    auto shared = std::make_shared<Write<T>>(std::move(write));
    outstanding_.push_back([shared, then]() {
      if (!shared->done()) return false;
      then(shared->get());
      return true;
    });
  }

  void submit_put() {
    ModelObject* object = idle_object();
    if (object == nullptr || object->bytes.size() > kPartBytes) return;
    const Presence before = object->presence;
    object->busy = true;
    if (before != Presence::Present) object->presence = Presence::Either;
    watch(put(machine_, life_->volume(), object->bytes), [this, object, before](auto answer) {
      object->busy = false;
      if (failed(answer, "a put")) return;
      if (before != Presence::Either && answer->is_new != (before == Presence::Absent)) {
        violate("a put is wrong about being new");
      }
      object->presence = Presence::Present;
    });
  }

  void submit_remove() {
    ModelObject* object = idle_object();
    if (object == nullptr) return;
    const Presence before = object->presence;
    object->busy = true;
    if (before != Presence::Absent) object->presence = Presence::Either;
    watch(remove(machine_, life_->volume(), object->id), [this, object, before](auto answer) {
      object->busy = false;
      if (failed(answer, "a remove")) return;
      if (before != Presence::Either && answer.has_value() != (before == Presence::Present)) {
        violate("a remove is wrong about what was there");
      }
      object->presence = Presence::Absent;
    });
  }

  void submit_upload() {
    ModelUpload* upload = nullptr;
    for (ModelUpload& candidate : uploads_) {
      if (!candidate.over && !candidate.doubtful) upload = &candidate;
    }
    if (upload == nullptr) {
      if (uploads_.size() >= kUploads) return;
      uploads_.push_back({});
      upload = &uploads_.back();
      upload->id = UploadId(uploads_.size(), 1, 1);
      upload->object = random_.below(objects_.size());
    }
    if (upload->busy) return;
    if (!upload->begun) return submit_begin(upload);
    const std::uint64_t what = random_.below(8);
    if (what == 0) return submit_abort(upload);
    if (what < 3) return submit_commit(upload);
    submit_part(upload);
  }

  void submit_begin(ModelUpload* upload) {
    const ModelObject& object = objects_[upload->object];
    upload->busy = true;
    watch(begin(machine_, life_->volume(), {upload->id, object.bytes.size(), object.id, "acme", 0}),
          [this, upload](auto answer) {
            upload->busy = false;
            upload->begun = !failed(answer, "a begin");
          });
  }

  void submit_part(ModelUpload* upload) {
    const std::vector<std::byte>& bytes = objects_[upload->object].bytes;
    if (bytes.empty()) return;
    const std::uint64_t part = random_.below((bytes.size() - 1) / kPartBytes + 1);
    const base::ByteView rest = base::ByteView(bytes).subspan(part * kPartBytes);
    upload->busy = true;
    upload->submitted.insert(part);
    watch(put_part(machine_, life_->volume(), upload->id, part,
                   rest.first(std::min<std::size_t>(rest.size(), kPartBytes))),
          [this, upload, part](auto answer) {
            upload->busy = false;
            if (!failed(answer, "a part")) upload->parts.insert(part);
            if (!answer && answer.error().code == Code::NotFound) violate("an upload is lost");
          });
  }

  void submit_commit(ModelUpload* upload) {
    ModelObject* object = &objects_[upload->object];
    if (object->busy) return;
    const bool whole = object->bytes.empty() ||
                       upload->parts.size() == (object->bytes.size() - 1) / kPartBytes + 1;
    if (!whole && upload->parts != upload->submitted) return;  // nobody knows
    upload->busy = object->busy = true;
    upload->doubtful = whole;
    if (whole && object->presence != Presence::Present) object->presence = Presence::Either;
    watch(commit(machine_, life_->volume(), upload->id), [=, this](auto answer) {
      upload->busy = object->busy = false;
      const bool incomplete = !answer && answer.error().code == Code::PreconditionFailed;
      if (!incomplete && failed(answer, "a commit")) return;
      upload->doubtful = false;
      if (answer.has_value() != whole) return violate("a commit is wrong about its parts");
      if (!whole) return;
      if (answer->id != object->id) violate("a commit makes another object");
      object->presence = Presence::Present;
      upload->over = true;
    });
  }

  void submit_abort(ModelUpload* upload) {
    upload->busy = upload->doubtful = true;
    watch(abort(machine_, life_->volume(), upload->id), [this, upload](auto answer) {
      upload->busy = false;
      if (failed(answer, "an abort")) return;
      upload->doubtful = false;
      upload->over = true;
    });
  }

  void check_everything() {
    if (!violation_.empty()) return;
    life_->wait_readable();
    std::uint64_t present = 0;
    for (ModelObject& object : objects_) {
      const auto bytes = get(machine_, life_->volume(), object.id);
      if (!bytes && bytes.error().code != Code::NotFound) {
        return violate("a read fails: " + bytes.error().message);
      }
      if (bytes && *bytes != object.bytes) return violate("wrong bytes");
      if (!bytes && object.presence == Presence::Present) return violate("an object is lost");
      if (bytes && object.presence == Presence::Absent) return violate("an object is back");
      object.presence = bytes ? Presence::Present : Presence::Absent;
      present += bytes ? 1 : 0;
    }
    if (life_->volume().stats().objects != present) violate("the count of objects is wrong");
    for (ModelUpload& upload : uploads_) check_upload(upload);
  }

  void check_upload(ModelUpload& upload) {
    const auto found = volume::run(machine_, life_->volume().find_upload(upload.id));
    if (!found && found.error().code != Code::NotFound) return violate("an upload fails");
    if (found && upload.over) return violate("an upload is back");
    if (!found && upload.begun && !upload.over && !upload.doubtful) {
      return violate("an upload is lost");
    }
    if (upload.doubtful && !found) upload.over = true;
    upload.doubtful = false;
    if (!found) return;
    upload.begun = true;
    std::set<std::uint64_t> there;
    for (const PartRange& range : found->arrived) {
      for (std::uint64_t part = range.first; part <= range.last; ++part) there.insert(part);
    }
    if (!std::ranges::includes(there, upload.parts)) return violate("a part is lost");
    if (!std::ranges::includes(upload.submitted, there)) return violate("a part from nowhere");
    upload.parts = upload.submitted = there;
  }

  // The index made anew from the log comes to the same as the one that grew with it.
  void compare_with_rebuilt() {
    start();
    if (!violation_.empty()) return;
    const VolumeStats grown = life_->volume().stats();
    life_->stop();
    end_life();
    lose_index();
    start();
    check_everything();
    if (!violation_.empty()) return;
    const VolumeStats made = life_->volume().stats();
    if (made.objects != grown.objects || made.object_bytes != grown.object_bytes) {
      violate("a rebuilt index counts other objects");
    }
    if (made.uploads != grown.uploads) violate("a rebuilt index counts other uploads");
    // It may find a tombstone again that was dropped together with a segment, had the power not
    // gone before that was removed.
    if (made.stored_bytes != grown.stored_bytes || made.dead_bytes > grown.dead_bytes) {
      violate("a rebuilt index counts other bytes: stored " + std::to_string(grown.stored_bytes) +
              " -> " + std::to_string(made.stored_bytes) + ", dead " +
              std::to_string(grown.dead_bytes) + " -> " + std::to_string(made.dead_bytes));
    }
    life_->stop();
    end_life();
  }

  static constexpr std::size_t kUploads = 16;

  Machine machine_;
  platform::FastRandom random_;
  Options options_;
  platform::sim::FaultPlan faults_;
  std::vector<ModelObject> objects_;
  std::vector<ModelUpload> uploads_ = [] {
    std::vector<ModelUpload> none;
    none.reserve(kUploads);  // they are pointed to
    return none;
  }();
  std::unique_ptr<Life> life_;
  std::vector<std::function<bool()>> outstanding_;
  std::string violation_;
};

// Many small segments, or few large ones.
Options model_options(std::uint64_t seed) {
  Options options = small_options();
  options.segment_bytes = seed % 2 == 0 ? 32 * base::kKiB : 8 * base::kMiB;
  return options;
}

TEST(DiskVolumeModel, WhatWasAcknowledgedHolds) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string violation = History(seed, model_options(seed)).run(6);
    ASSERT_EQ(violation, "") << "seed " << seed;
  }
}

TEST(DiskVolumeModel, WhatWasAcknowledgedHoldsOnAFailingDisk) {
  platform::sim::FaultPlan faults;
  faults.fail_write = 60'000;
  faults.fail_sync = 60'000;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::string violation = History(seed, model_options(seed), faults).run(6);
    ASSERT_EQ(violation, "") << "seed " << seed;
  }
}

TEST(DiskVolumeModel, AVolumeThatDoesNotSyncIsFoundOut) {
  std::uint64_t violations = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Options options = model_options(seed);
    options.skip_sync = true;
    violations += History(seed, options).run(6).empty() ? 0U : 1U;
  }
  EXPECT_GT(violations, 5U);
}

}  // namespace
}  // namespace ron::volume
