#include "http/wire.h"

#include <string>

#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;

// A wire at one end of a connection, bytes by hand at the other.
class WireTest : public testing::Test {
 protected:
  void SetUp() override {
    auto listener = node_.net().listen(node_.endpoint(80));
    auto connected = peer_.net().connect(node_.endpoint(80));
    world_.run_for(2 * kTrip);
    int error = 0;
    far_ = std::move(*connected);
    near_ = (*listener)->try_accept(error);
    ASSERT_NE(near_, nullptr);
  }
  // Runs `use` with a wire on the node's executor.
  template <class Use>
  std::unique_ptr<Root> with_wire(Use use) {
    return std::make_unique<Root>(node_.core(), hold(this, use));
  }
  template <class Use>
  static Task<void> hold(WireTest* self, Use use) {
    Wire wire(std::move(self->near_), self->pool_);
    co_await use(&wire);
    self->ended_ = since_start(platform::Executor::current()->now());
  }
  void say(std::string_view text) {
    const base::ByteView bytes = base::as_bytes(text);
    EXPECT_EQ(far_->try_write({&bytes, 1}).bytes, text.size());
  }
  std::string hear(std::size_t most = SIZE_MAX) {
    std::string all;
    std::string buffer(4096, '\0');
    while (all.size() < most) {
      const std::size_t want = std::min(buffer.size(), most - all.size());
      const auto result = far_->try_read({reinterpret_cast<std::byte*>(buffer.data()), want});
      if (!result.ok()) break;
      all.append(buffer, 0, result.bytes);
    }
    return all;
  }

  BufferPool pool_;
  sim::World world_{9, exact_world()};
  sim::Node& node_ = world_.add_node();
  sim::Node& peer_ = world_.add_node();
  std::unique_ptr<platform::Stream> near_;
  std::unique_ptr<platform::Stream> far_;
  WireEnd end_ = WireEnd::None;
  std::string got_;
  base::Duration ended_{};
};

Task<void> fill_once(WireEnd* end, std::string* got, Wire* wire, base::Duration timeout) {
  wire->watch_in(timeout);
  *end = co_await wire->fill();
  *got = wire->pending();
}

TEST_F(WireTest, FillWaitsForBytes) {
  const auto run = with_wire([this](Wire* wire) { return fill_once(&end_, &got_, wire, 10s); });
  world_.run_for(1s);
  say("hello");
  world_.run_for(kTrip);
  EXPECT_TRUE(run->done());
  EXPECT_EQ(end_, WireEnd::None);
  EXPECT_EQ(got_, "hello");
}

TEST_F(WireTest, FillTimesOutExactly) {
  const auto run = with_wire([this](Wire* wire) { return fill_once(&end_, &got_, wire, 10s); });
  world_.run_for(20s);
  EXPECT_EQ(end_, WireEnd::TimedOut);
  EXPECT_EQ(ended_, 2 * kTrip + 10s);
}

TEST_F(WireTest, FillSeesThePeerLeave) {
  const auto run = with_wire([this](Wire* wire) { return fill_once(&end_, &got_, wire, 10s); });
  far_.reset();
  world_.run_for(kTrip);
  EXPECT_EQ(end_, WireEnd::Closed);
}

TEST_F(WireTest, FillCanBeInterrupted) {
  Wire* waiting = nullptr;
  const auto run = with_wire([this, &waiting](Wire* wire) {
    waiting = wire;
    return fill_once(&end_, &got_, wire, 10s);
  });
  world_.run_for(1s);
  waiting->interrupt();
  world_.run_for(0ms);
  EXPECT_EQ(end_, WireEnd::Interrupted);
}

Task<void> watch_twice(WireEnd* end, std::string* got, Wire* wire) {
  wire->watch_in(1s);
  wire->watch_in(5s);
  wire->unwatch();
  wire->watch_in(3s);
  *end = co_await wire->fill();
  *got = wire->pending();
}

TEST_F(WireTest, OnlyTheLastWatchCounts) {
  const auto run = with_wire([this](Wire* wire) { return watch_twice(&end_, &got_, wire); });
  world_.run_for(20s);
  EXPECT_EQ(end_, WireEnd::TimedOut);
  EXPECT_EQ(ended_, 2 * kTrip + 3s);
}

Task<void> detach_and_go_on(BufferPool* pool, std::string* got, Wire* wire) {
  co_await wire->fill();
  const std::string_view head = wire->pending().substr(0, 4);
  wire->consume(4);
  std::unique_ptr<ReadBuffer> kept = wire->detach();
  *got = std::string(wire->pending()) + "|";
  wire->consume(wire->pending().size());
  co_await wire->fill();
  *got += std::string(wire->pending()) + "|" + std::string(head);
  pool->give_back(std::move(kept));
}

TEST_F(WireTest, DetachedBytesStayWhileMoreIsRead) {
  const auto run = with_wire([this](Wire* wire) { return detach_and_go_on(&pool_, &got_, wire); });
  say("headbody");
  world_.run_for(1s);
  say("more");
  world_.run_for(1s);
  EXPECT_EQ(got_, "body|more|head");
}

Task<void> read_ten(WireEnd* end, std::string* got, Wire* wire) {
  std::string into(10, '\0');
  *end = co_await wire->read_exactly({reinterpret_cast<std::byte*>(into.data()), into.size()}, 5s);
  *got = into;
}

TEST_F(WireTest, ReadExactlyTakesBytesAsTheyCome) {
  const auto run = with_wire([this](Wire* wire) { return read_ten(&end_, &got_, wire); });
  for (int i = 0; i < 9; ++i) {
    say("x");
    world_.run_for(400ms);
  }
  say("y");
  world_.run_for(400ms);
  EXPECT_EQ(end_, WireEnd::None);
  EXPECT_EQ(got_, "xxxxxxxxxy");
}

TEST_F(WireTest, ReadExactlyTimesOutWhenBytesDribble) {
  const auto run = with_wire([this](Wire* wire) { return read_ten(&end_, &got_, wire); });
  world_.run_for(4s);
  say("x");
  world_.run_for(20s);
  EXPECT_EQ(end_, WireEnd::TimedOut);
  EXPECT_EQ(ended_, 2 * kTrip + 5s);
}

Task<void> write_large(WireEnd* end, Wire* wire, std::string_view head, std::string_view body) {
  *end = co_await wire->write({base::as_bytes(head), base::as_bytes(body)}, 5s);
}

TEST_F(WireTest, WriteSendsAllSpansInOrder) {
  const std::string body(base::kMiB, 'b');
  const auto run =
      with_wire([this, &body](Wire* wire) { return write_large(&end_, wire, "head", body); });
  std::string all;
  for (int i = 0; i < 100 && !run->done(); ++i) {
    world_.run_for(10ms);
    all += hear();
  }
  world_.run_for(10ms);
  all += hear();
  EXPECT_EQ(end_, WireEnd::None);
  EXPECT_EQ(all, "head" + body);
}

TEST_F(WireTest, ASlowReaderThatMakesProgressIsNotCutOff) {
  const std::string body(512 * base::kKiB, 'b');
  const auto run =
      with_wire([this, &body](Wire* wire) { return write_large(&end_, wire, "", body); });
  std::size_t heard = 0;
  for (int i = 0; i < 200 && !run->done(); ++i) {
    world_.run_for(4s);
    heard += hear(8 * base::kKiB).size();
  }
  EXPECT_TRUE(run->done());
  EXPECT_EQ(end_, WireEnd::None);
  EXPECT_GT(ended_, 60s);
  EXPECT_GE(heard, 256 * base::kKiB);
}

// A byte now and then is not progress: it would hold the connection's memory for ever.
TEST_F(WireTest, AReaderThatTakesTooLittleIsCutOff) {
  const std::string body(512 * base::kKiB, 'b');
  const auto run =
      with_wire([this, &body](Wire* wire) { return write_large(&end_, wire, "", body); });
  for (int i = 0; i < 100 && !run->done(); ++i) {
    world_.run_for(1s);
    hear(100);
  }
  EXPECT_EQ(end_, WireEnd::TimedOut);
  EXPECT_EQ(ended_, 2 * kTrip + 5s);
}

Task<void> linger_once(Wire* wire) { co_await wire->linger(1s); }

TEST_F(WireTest, LingerEndsWhenThePeerLeaves) {
  const auto run = with_wire([](Wire* wire) { return linger_once(wire); });
  say("late bytes");
  world_.run_for(10ms);
  EXPECT_FALSE(run->done());
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(far_->try_read(bytes).kind, platform::IoResult::Kind::Eof);
  far_.reset();
  world_.run_for(kTrip);
  EXPECT_TRUE(run->done());
}

TEST_F(WireTest, LingerEndsAfterItsTime) {
  const auto run = with_wire([](Wire* wire) { return linger_once(wire); });
  world_.run_for(10s);
  EXPECT_EQ(ended_, 2 * kTrip + 1s);
}

TEST_F(WireTest, LingerEndsAfterItsBytes) {
  const auto run = with_wire([](Wire* wire) { return linger_once(wire); });
  const std::string flood(64 * base::kKiB, 'x');
  std::size_t sent = 0;
  while (!run->done() && sent < 16 * base::kMiB) {
    const base::ByteView bytes = base::as_bytes(flood);
    sent += far_->try_write({&bytes, 1}).bytes;
    world_.run_for(1ms);
  }
  EXPECT_TRUE(run->done());
  EXPECT_LT(ended_, 1s);
  EXPECT_GE(sent, 4 * base::kMiB);
  EXPECT_LT(sent, 5 * base::kMiB);
}

Task<void> wait_for_ever(Wire* wire) { co_await wire->fill(); }

TEST_F(WireTest, AbortingAWaitLeavesNothingBehind) {
  auto run = with_wire([](Wire* wire) { return wait_for_ever(wire); });
  world_.run_for(1s);
  run.reset();
  world_.run_for(kTrip);
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(far_->try_read(bytes).kind, platform::IoResult::Kind::Eof);
}

TEST(BufferPool, ReusesBuffers) {
  BufferPool pool;
  std::unique_ptr<ReadBuffer> first = pool.take();
  const ReadBuffer* const address = first.get();
  pool.give_back(std::move(first));
  EXPECT_EQ(pool.take().get(), address);
}

}  // namespace
}  // namespace ron::http
