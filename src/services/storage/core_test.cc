#include "services/storage/core.h"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "config/load.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"
#include "services/storage/object_source.h"
#include "services/storage/test_volume.h"

namespace ron::storage {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;
using platform::Task;
using platform::test::Root;
using testing::TestVolume;

base::Buffer buffer(const std::string& text) {
  base::Buffer bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string noise(std::size_t size) {
  std::string text(size, '\0');
  platform::FastRandom random(size);
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

// A core on volumes that could be disks: the memory tier is between them and the readers.
class CoreTest : public ::testing::Test {
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
    Asked(platform::Executor& core, Task<T> task) : root_(core, keep(this, std::move(task))) {}
    [[nodiscard]] bool done() const noexcept { return value_.has_value(); }
    T& operator*() { return *value_; }
    T* operator->() { return &*value_; }

   private:
    static Task<void> keep(Asked* self, Task<T> task) {
      T value = co_await task;
      self->value_.emplace(std::move(value));
    }
    std::optional<T> value_;
    Root root_;
  };
  template <class T>
  T get(Task<T> task) {
    Asked<T> asked(node_.core(), std::move(task));
    EXPECT_EQ(world_.run_until([&] { return asked.done(); }, 10min), platform::sim::Outcome::Done);
    return std::move(*asked);
  }
  base::ObjectId put(const std::string& text, const std::string& tenant = "") {
    const auto stored = get(core_->put({buffer(text), std::nullopt, tenant}, soon()));
    EXPECT_TRUE(stored);
    return stored ? stored->id : base::ObjectId();
  }
  LocatedObject found(const base::ObjectId& id) { return get(core_->locate(id)).value(); }
  runtime::Deadline soon() { return runtime::Deadline(world_.now() + 1min); }
  std::uint64_t counted(std::string_view name) {
    for (const runtime::FamilyReading& family : meters_.collect()) {
      if (family.decl->name == name) return family.series.front().count;
    }
    return 0;
  }

  platform::sim::World world_{1};
  platform::sim::Node& node_ = world_.add_node();
  platform::NoSendArena arena_;
  runtime::Meters meters_{"svc-storage"};
  runtime::Topology topology_{kWires, meters_};
  std::vector<TestVolume*> volumes_;
  std::optional<Core> core_;
  std::optional<Root> get_worker_;
  std::optional<Root> put_worker_;
};

TEST_F(CoreTest, WhatWasReadOnceIsReadFromMemory) {
  start();
  start_workers();
  const base::ObjectId id = put("hello");
  EXPECT_EQ(core_->cached(id), nullptr);
  ASSERT_TRUE(core_->loads_whole(5));
  const auto object = get(core_->load(found(id), soon()));
  ASSERT_TRUE(object);
  EXPECT_EQ(base::as_text((*object)->bytes()), "hello");
  EXPECT_EQ(core_->cached(id), *object);
  ASSERT_TRUE(get(core_->load(found(id), soon())));
  EXPECT_EQ(volumes_[0]->reads, 1U);
}

// Streams under way are as many as there are connections: they leave room for new requests.
TEST_F(CoreTest, ReadsThatWaitLeaveHalfOfTheQueueToOthers) {
  start({"storage.channels.work=4"});
  start_workers();
  const base::ObjectId id = put("hello");
  const LocatedObject at = found(id);
  get_worker_.reset();
  std::vector<std::unique_ptr<Asked<Result<volume::Piece>>>> pieces;
  for (int i = 0; i < 10; ++i) {
    const ReadRequest asked{
        .offset = 0, .length = 5, .deadline = soon(), .when_full = kit::WhenFull::Wait};
    pieces.push_back(
        std::make_unique<Asked<Result<volume::Piece>>>(node_.core(), core_->read(at, asked)));
  }
  world_.run_for(1s);
  EXPECT_EQ(core_->work().depth(), 2U);
  EXPECT_TRUE(core_->check_room());
  put("another");
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(1s);
  for (const auto& piece : pieces) EXPECT_TRUE(piece->done() && (*piece)->has_value());
}

TEST_F(CoreTest, AnObjectIsGoneFromMemoryBeforeItsRemovalIsAnswered) {
  start();
  start_workers();
  const base::ObjectId id = put("doomed");
  ASSERT_TRUE(get(core_->load(found(id), soon())));
  volumes_[0]->hold_removes = true;
  Asked<Result<void>> removal(node_.core(), core_->remove({id, ""}, soon()));
  world_.run_for(1s);
  EXPECT_FALSE(removal.done());
  volumes_[0]->release_removes();
  EXPECT_EQ(core_->cached(id), nullptr);
  world_.run_for(1s);
  ASSERT_TRUE(removal.done());
  EXPECT_TRUE(*removal);
}

TEST_F(CoreTest, AnObjectIsGoneFromMemoryAlsoWhenTheClientHasLeft) {
  start();
  start_workers();
  const base::ObjectId id = put("doomed");
  ASSERT_TRUE(get(core_->load(found(id), soon())));
  volumes_[0]->hold_removes = true;
  {
    const Asked<Result<void>> removal(node_.core(), core_->remove({id, ""}, soon()));
    world_.run_for(1s);
  }
  volumes_[0]->release_removes();
  EXPECT_EQ(core_->cached(id), nullptr);
}

TEST_F(CoreTest, ASlowReadDoesNotBringBackWhatWasRemoved) {
  start();
  start_workers();
  const base::ObjectId id = put("doomed");
  volumes_[0]->read_takes = 5s;
  Asked<Result<ObjectPtr>> reading(node_.core(), core_->load(found(id), soon()));
  world_.run_for(1s);
  ASSERT_TRUE(get(core_->remove({id, ""}, soon())));
  world_.run_for(10s);
  ASSERT_TRUE(reading.done());
  EXPECT_TRUE(*reading);  // it began before the removal
  EXPECT_EQ(core_->cached(id), nullptr);
  EXPECT_EQ(get(core_->locate(id)).error().code, Code::NotFound);
}

TEST_F(CoreTest, BytesThatDoNotVerifyAreCountedAndWithheld) {
  start();
  start_workers();
  const base::ObjectId id = put("damaged");
  volumes_[0]->read_error = base::Error(Code::IntegrityFail, "").with("group", "0");
  EXPECT_EQ(get(core_->load(found(id), soon())).error().code, Code::IntegrityFail);
  EXPECT_EQ(core_->cached(id), nullptr);
  EXPECT_EQ(counted("integrity_fail_total"), 1U);
}

TEST_F(CoreTest, AStreamIsReadInAlignedPieces) {
  start({"storage.cache_bytes=0"});
  start_workers();
  const std::string text = noise(300'000);
  const base::ObjectId id = put(text);
  EXPECT_FALSE(core_->loads_whole(text.size()));
  ObjectRange range{found(id), 1000, text.size() - 1000};
  ReadRequest asked;
  asked.offset = range.offset;
  asked.length = piece_length(range.offset, range.length, core_->chunk_bytes());
  asked.deadline = soon();
  auto first = get(core_->read(range.object, asked));
  ASSERT_TRUE(first);
  ObjectSource source(*core_, std::move(range), std::move(*first));
  std::string read;
  for (;;) {
    const auto piece = get(source.next());
    ASSERT_TRUE(piece);
    if (piece->empty()) break;
    read += base::as_text(*piece);
  }
  EXPECT_EQ(read, text.substr(1000));
  EXPECT_EQ(volumes_[0]->read_lengths,
            (std::vector<std::uint64_t>{65536 - 1000, 65536, 65536, 65536, 300'000 - 4 * 65536}));
}

TEST_F(CoreTest, APieceIsAskedForAgainWhenItsWorkerDies) {
  start({"storage.cache_bytes=0"});
  start_workers();
  const base::ObjectId id = put("survivor");
  volumes_[0]->read_takes = 1s;
  ReadRequest asked{
      .offset = 0, .length = 8, .deadline = soon(), .when_full = kit::WhenFull::Refuse};
  Asked<Result<volume::Piece>> reading(node_.core(), core_->read(found(id), asked));
  world_.run_for(500ms);
  get_worker_.reset();
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(500ms);
  get_worker_.reset();
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(5s);
  ASSERT_TRUE(reading.done());
  ASSERT_FALSE(*reading);  // once more, not for ever
  EXPECT_EQ(reading->error().code, Code::Canceled);
  EXPECT_EQ(volumes_[0]->reads, 2U);
  EXPECT_EQ(base::as_text(get(core_->read(found(id), asked))->bytes), "survivor");
}

// Whatever moment a worker dies at: the stream goes on with the next worker, and its bytes are
// those of the object; with no worker left it fails, and never ends early as if it were whole.
TEST_F(CoreTest, AStreamOutlivesItsWorkerOrFails) {
  start({"storage.cache_bytes=0", "storage.read_timeout=5s"});
  start_workers();
  const std::string text = noise(300'000);
  const base::ObjectId id = put(text);
  volumes_[0]->read_takes = 1s;
  for (const bool respawned : {true, false}) {
    for (int killed = 1; killed < 5; ++killed) {
      SCOPED_TRACE(::testing::Message() << "piece " << killed << ", respawned " << respawned);
      get_worker_.emplace(node_.core(), core_->get_worker({}));
      ReadRequest asked{
          .offset = 0, .length = 65536, .deadline = soon(), .when_full = kit::WhenFull::Wait};
      auto first = get(core_->read(found(id), asked));
      ASSERT_TRUE(first);
      ObjectSource source(*core_, {found(id), 0, text.size()}, std::move(*first));
      std::string read;
      std::optional<Code> failed;
      for (int piece = 0;; ++piece) {
        Asked<Result<base::ByteView>> next(node_.core(), source.next());
        if (piece == killed) {
          world_.run_for(500ms);
          get_worker_.reset();
          if (respawned) get_worker_.emplace(node_.core(), core_->get_worker({}));
        }
        world_.run_for(20s);
        ASSERT_TRUE(next.done());
        if (!*next) failed = next->error().code;
        if (failed || (*next)->empty()) break;
        read += base::as_text(**next);
      }
      EXPECT_EQ(failed, respawned ? std::nullopt : std::optional(Code::Timeout));
      EXPECT_EQ(read, respawned ? text : text.substr(0, 65536 * static_cast<unsigned>(killed)));
    }
  }
}

TEST_F(CoreTest, AFullQueueIsToldAtOnceAndStreamsWait) {
  start({"storage.channels.work=1", "storage.cache_bytes=0"});
  start_workers();
  const base::ObjectId id = put("queued");
  const LocatedObject there = found(id);
  get_worker_.reset();
  ReadRequest asked{
      .offset = 0, .length = 6, .deadline = soon(), .when_full = kit::WhenFull::Refuse};
  Asked<Result<volume::Piece>> queued(node_.core(), core_->read(there, asked));
  world_.run_for(1s);
  EXPECT_EQ(get(core_->read(there, asked)).error().code, Code::Busy);
  EXPECT_EQ(core_->check_room().error().code, Code::Busy);
  asked.when_full = kit::WhenFull::Wait;
  Asked<Result<volume::Piece>> waiting(node_.core(), core_->read(there, asked));
  world_.run_for(1s);
  EXPECT_FALSE(waiting.done());
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(1s);
  ASSERT_TRUE(queued.done() && waiting.done());
  EXPECT_TRUE(*queued);
  EXPECT_TRUE(*waiting);
}

TEST_F(CoreTest, WorkNobodyWaitsForIsSkipped) {
  start({"storage.cache_bytes=0"});
  start_workers();
  const base::ObjectId id = put("unwanted");
  const LocatedObject there = found(id);
  get_worker_.reset();
  ReadRequest asked{
      .offset = 0, .length = 8, .deadline = soon(), .when_full = kit::WhenFull::Refuse};
  {
    const Asked<Result<volume::Piece>> gone(node_.core(), core_->read(there, asked));
    world_.run_for(1s);
  }
  get_worker_.emplace(node_.core(), core_->get_worker({}));
  world_.run_for(1s);
  EXPECT_EQ(volumes_[0]->reads, 0U);
  EXPECT_EQ(core_->work().depth(), 0U);
}

TEST_F(CoreTest, QuotasCountWhatIsHeldAndSpareWhatIsHeldAlready) {
  start({"storage.quota.bytes=10"});
  start_workers();
  put("12345", "a");
  put("12345678", "b");
  const auto refused = get(core_->put({buffer("123456"), std::nullopt, "a"}, soon()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Quota);
  // What others store costs whoever wants to hold it, too.
  EXPECT_EQ(get(core_->put({buffer("12345678"), std::nullopt, "a"}, soon())).error().code,
            Code::Quota);
  EXPECT_FALSE(get(core_->put({buffer("12345678"), std::nullopt, "b"}, soon()))->is_new);
  ASSERT_TRUE(get(core_->remove({b3::hash(base::as_bytes("12345")), "a"}, soon())));
  put("123456", "a");
}

TEST_F(CoreTest, AnUploadReservesItsLengthUntilItEnds) {
  start({"storage.quota.bytes=10"});
  start_workers();
  const auto begun = get(core_->begin_upload({8, std::nullopt, "a"}, soon()));
  ASSERT_TRUE(begun);
  EXPECT_EQ(get(core_->put({buffer("123"), std::nullopt, "a"}, soon())).error().code, Code::Quota);
  ASSERT_TRUE(get(core_->abort_upload(begun->id, "a", soon())));
  put("123", "a");
}

TEST_F(CoreTest, AnExpiredUploadLetsGoOfItsQuota) {
  start({"storage.quota.bytes=10", "storage.uploads.expire_after=1h"});
  start_workers();
  ASSERT_TRUE(get(core_->begin_upload({8, std::nullopt, "a"}, soon())));
  ASSERT_TRUE(get(core_->begin_upload({8, std::nullopt, "b"}, soon())));
  EXPECT_EQ(get(core_->put({buffer("123"), std::nullopt, "a"}, soon())).error().code, Code::Quota);
  world_.run_for(1h + 1s);
  put("123", "a");
  EXPECT_EQ(core_->quotas().standing("a").reserved, volume::Usage{});
  EXPECT_EQ(core_->quotas().standing("b").reserved, volume::Usage{});
}

TEST_F(CoreTest, WhatOthersHoldStaysInMemoryAndOnTheVolume) {
  start();
  start_workers();
  const base::ObjectId id = put("hello", "a");
  put("hello", "b");
  ASSERT_TRUE(get(core_->load(found(id), soon())));
  EXPECT_EQ(get(core_->remove({id, "c"}, soon())).error().code, Code::NotFound);
  ASSERT_TRUE(get(core_->remove({id, "a"}, soon())));
  EXPECT_NE(core_->cached(id), nullptr);
  EXPECT_EQ(get(core_->remove({id, "a"}, soon())).error().code, Code::NotFound);
  ASSERT_TRUE(get(core_->remove({id, "b"}, soon())));
  EXPECT_EQ(core_->cached(id), nullptr);
  EXPECT_EQ(get(core_->locate(id)).error().code, Code::NotFound);
}

TEST_F(CoreTest, AnOutrightRemovalLeavesNoHold) {
  start({"storage.quota.bytes=10"});
  start_workers();
  const base::ObjectId id = put("1234567", "a");
  put("1234567", "b");
  ASSERT_TRUE(get(core_->remove({id, std::nullopt}, soon())));
  EXPECT_EQ(get(core_->locate(id)).error().code, Code::NotFound);
  put("12345678", "a");
  put("12345678", "b");
}

// On two volumes at once, which a race may do: each tenant goes on where it is.
TEST_F(CoreTest, ATenantHoldsAnObjectOnOneVolumeOnly) {
  start({}, {10 * base::kMiB, 20 * base::kMiB});
  start_workers();
  const std::string text = noise(base::kMiB);
  const base::ObjectId id = b3::hash(base::as_bytes(text));
  const auto put_on = [&](TestVolume* volume, const std::string& tenant) {
    auto [sender, receiver] = runtime::oneshot<Result<volume::Added>>();
    const Root root(node_.core(),
                    volume->put({id, buffer(text), tenant, {}}, soon(), std::move(sender)));
    world_.run_for(1s);
    EXPECT_TRUE(*get(receiver.recv(soon())));
  };
  put_on(volumes_[0], "a");
  put_on(volumes_[1], "b");
  put(text, "b");
  put(text, "c");
  EXPECT_EQ(core_->volumes().usage("b").objects, 1U);
  const auto holders = get(core_->volumes().holders(id, 10));
  ASSERT_TRUE(holders);
  EXPECT_EQ(holders->tenants, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_TRUE(get(core_->remove({id, "a"}, soon())));
  ASSERT_TRUE(get(core_->remove({id, "b"}, soon())));
  EXPECT_TRUE(get(core_->locate(id)));
  ASSERT_TRUE(get(core_->remove({id, "c"}, soon())));
  EXPECT_EQ(get(core_->locate(id)).error().code, Code::NotFound);
}

TEST_F(CoreTest, ObjectsGoWhereThereIsRoomAndAreStoredOnce) {
  start({}, {10 * base::kMiB, 20 * base::kMiB});
  start_workers();
  const base::ObjectId id = put(noise(base::kMiB));
  EXPECT_EQ(found(id).volume, volumes_[1]);
  for (std::size_t i = 1; i <= 12; ++i) put(noise(base::kMiB - i));
  EXPECT_GT(volumes_[0]->stats().objects, 0U);
  EXPECT_LT(volumes_[1]->stats().free_bytes, 12 * base::kMiB);
  EXPECT_FALSE(get(core_->put({buffer(noise(base::kMiB)), std::nullopt, ""}, soon()))->is_new);
  EXPECT_EQ(core_->volumes().totals().objects, 13U);
  const auto listed = get(core_->volumes().list(std::nullopt, 5));
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->size(), 5U);
  ASSERT_TRUE(get(core_->remove({id, ""}, soon())));
  EXPECT_EQ(get(core_->remove({id, ""}, soon())).error().code, Code::NotFound);
}

TEST_F(CoreTest, UploadsAreFoundAgainAfterARestart) {
  start();
  start_workers();
  volume::Upload upload;
  upload.id = volume::UploadId(1, 2, 3);
  upload.length = 3;
  upload.tenant = "a";
  upload.expires_unix_s = world_.unix_ms() / 1000 + 60;
  auto [sender, receiver] = runtime::oneshot<Result<bool>>();
  Root begun(node_.core(), volumes_[0]->begin_upload(upload, soon(), std::move(sender)));
  world_.run_for(1s);
  EXPECT_EQ(get(core_->open_upload(upload.id, "b")).error().code, Code::NotFound);
  const auto open = get(core_->open_upload(upload.id, "a"));
  ASSERT_TRUE(open);
  EXPECT_TRUE(get(core_->put_part(*open, 0, buffer("abc"), soon())));
  EXPECT_EQ(get(core_->commit_upload(upload.id, "a", soon()))->id, b3::hash(base::as_bytes("abc")));
  // Again, for whom it belongs to: the first answer may have been lost.
  const auto again = get(core_->commit_upload(upload.id, "a", soon()));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, b3::hash(base::as_bytes("abc")));
  EXPECT_EQ(again->length, 3U);
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(get(core_->commit_upload(upload.id, "b", soon())).error().code, Code::NotFound);
  EXPECT_EQ(get(core_->upload_state(upload.id, "a")).error().code, Code::NotFound);
  EXPECT_EQ(get(core_->open_upload(upload.id, "a")).error().code, Code::NotFound);
  world_.run_for(2min);
  EXPECT_EQ(get(core_->commit_upload(upload.id, "a", soon())).error().code, Code::NotFound);
  EXPECT_EQ(get(core_->open_upload(upload.id, "a")).error().code, Code::NotFound);
}

}  // namespace
}  // namespace ron::storage
