#include "platform/sim/net.h"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::platform::sim {
namespace {

using namespace std::chrono_literals;
using test::Root;

// A server that counts what it gets and a client that sends at a steady pace.
struct Call {
  std::string got;
  IoResult::Kind server_end = IoResult::Kind::Bytes;
  int server_error = 0;
  int connect_error = -1;
  int write_error = 0;
  TimePoint connected{};
  std::vector<std::size_t> reads;
};

Task<void> receive(Host host, Endpoint at, Call* call) {
  auto listener = host.net.listen(at);
  std::unique_ptr<Stream> stream = co_await test::accept(listener->get());
  std::array<std::byte, 4096> buffer{};
  for (;;) {
    const IoResult result = stream->try_read(buffer);
    if (result.would_block()) {
      co_await stream->readable().wait();
    } else if (result.ok()) {
      call->got += base::as_text(base::ByteView(buffer).first(result.bytes));
      call->reads.push_back(result.bytes);
    } else {
      call->server_end = result.kind;
      call->server_error = result.error;
      co_return;
    }
  }
}

Task<void> transmit(Host host, Endpoint to, Call* call, int times, Duration pace) {
  auto stream = host.net.connect(to);
  call->connect_error = co_await test::established(stream->get());
  call->connected = Executor::current()->now();
  for (int i = 0; i < times && call->connect_error == 0 && call->write_error == 0; ++i) {
    call->write_error = co_await test::write_all(stream->get(), std::string(1000, 'x'));
    co_await test::pause(pace);
  }
}

class SimNetTest : public testing::Test {
 protected:
  void start(int times, Duration pace) {
    serving_ = std::make_unique<Root>(server_.core(),
                                      receive(server_.host(), server_.endpoint(80), &call_));
    world_.run_for(1ms);
    calling_ = std::make_unique<Root>(
        client_.core(), transmit(client_.host(), server_.endpoint(80), &call_, times, pace));
  }
  Outcome finish(Duration limit) {
    return world_.run_until([&] { return serving_->done() && calling_->done(); }, limit);
  }

  World world_{11};
  Node& server_ = world_.add_node();
  Node& client_ = world_.add_node();
  Call call_;
  std::unique_ptr<Root> serving_;
  std::unique_ptr<Root> calling_;
};

TEST_F(SimNetTest, WithoutFaultsWritesArriveWhole) {
  start(10, 1ms);
  EXPECT_EQ(finish(1s), Outcome::Done);
  EXPECT_EQ(call_.reads, std::vector<std::size_t>(10, 1000));
  EXPECT_EQ(call_.server_end, IoResult::Kind::Eof);
}

TEST_F(SimNetTest, SplitSegmentsMakeShortReads) {
  world_.faults().split_segment = 500'000;
  start(10, 1ms);
  EXPECT_EQ(finish(1s), Outcome::Done);
  EXPECT_EQ(call_.got.size(), 10'000U);
  EXPECT_GT(call_.reads.size(), 12U);
}

TEST_F(SimNetTest, LatencyDelaysTheHandshake) {
  world_.network().set_link(server_.id(), client_.id(), {.latency = 100ms, .jitter = 0ms});
  start(1, 0ms);
  EXPECT_EQ(finish(10s), Outcome::Done);
  EXPECT_EQ(call_.connected.time_since_epoch(), 201ms);
}

TEST_F(SimNetTest, BandwidthLimitsThroughput) {
  world_.network().set_link(server_.id(), client_.id(),
                            {.latency = 1ms, .jitter = 0ms, .bytes_per_second = 100'000});
  start(100, 0ms);
  EXPECT_EQ(finish(10s), Outcome::Done);
  EXPECT_EQ(call_.got.size(), 100'000U);
  EXPECT_GE(world_.now().time_since_epoch(), 1s);
  EXPECT_LE(world_.now().time_since_epoch(), 1100ms);
}

TEST_F(SimNetTest, LostSegmentsArriveLateButInOrder) {
  world_.faults().lose_segment = 200'000;
  start(50, 1ms);
  EXPECT_EQ(finish(60s), Outcome::Done);
  EXPECT_EQ(call_.got.size(), 50'000U);
  EXPECT_GE(world_.now().time_since_epoch(), 200ms);
}

TEST_F(SimNetTest, ResetSegmentsEndTheConnectionOnBothSides) {
  world_.faults().reset_segment = 100'000;
  start(1000, 1ms);
  EXPECT_EQ(finish(10s), Outcome::Done);
  EXPECT_EQ(call_.server_error, ECONNRESET);
  EXPECT_EQ(call_.write_error, ECONNRESET);
}

TEST_F(SimNetTest, RefusedConnectionsHappen) {
  world_.faults().refuse_connect = kAlways;
  start(1, 0ms);
  EXPECT_EQ(world_.run_until([&] { return calling_->done(); }, 1s), Outcome::Done);
  EXPECT_EQ(call_.connect_error, ECONNREFUSED);
}

TEST_F(SimNetTest, FailedAcceptsHappen) {
  auto listener = server_.net().listen(server_.endpoint(80));
  const Root caller(client_.core(), transmit(client_.host(), server_.endpoint(80), &call_, 0, 0ms));
  world_.run_for(10ms);
  world_.faults().fail_accept = kAlways;
  int error = 0;
  EXPECT_EQ((*listener)->try_accept(error), nullptr);
  EXPECT_EQ(error, EMFILE);
  EXPECT_TRUE((*listener)->acceptable().is_set());
  world_.faults().fail_accept = 0;
  EXPECT_NE((*listener)->try_accept(error), nullptr);
}

TEST_F(SimNetTest, SpuriousReadinessHappens) {
  auto listener = server_.net().listen(server_.endpoint(80));
  world_.faults().spurious_ready = kAlways;
  auto stream = client_.net().connect(server_.endpoint(80));
  world_.run_for(10ms);
  const base::ByteView text = base::as_bytes("x");
  EXPECT_TRUE((*stream)->try_write({&text, 1}).would_block());
  EXPECT_TRUE((*stream)->writable().is_set());
  world_.faults().spurious_ready = 0;
  EXPECT_TRUE((*stream)->try_write({&text, 1}).ok());
}

TEST_F(SimNetTest, ShortWritesComeWithALaterEvent) {
  world_.faults().short_write = kAlways;
  start(10, 1ms);
  EXPECT_EQ(finish(10s), Outcome::Done);
  EXPECT_EQ(call_.got.size(), 10'000U);
  EXPECT_GT(call_.reads.size(), 20U);
}

TEST_F(SimNetTest, APartitionStallsAndHealingResumes) {
  start(100, 1ms);
  world_.run_for(20ms);
  world_.network().partition(server_.id(), client_.id());
  world_.run_for(1ms);
  const std::size_t before = call_.got.size();
  world_.run_for(5s);
  EXPECT_EQ(call_.got.size(), before);
  world_.network().heal(server_.id(), client_.id());
  EXPECT_EQ(finish(10s), Outcome::Done);
  EXPECT_EQ(call_.got.size(), 100'000U);
}

TEST_F(SimNetTest, ALongPartitionTimesOutTheSender) {
  start(100'000, 10ms);
  world_.run_for(100ms);
  world_.network().partition(server_.id(), client_.id());
  EXPECT_EQ(world_.run_until([&] { return calling_->done(); }, 5min), Outcome::Done);
  EXPECT_EQ(call_.write_error, ETIMEDOUT);
  EXPECT_FALSE(serving_->done()) << "nobody told the receiver";
}

TEST_F(SimNetTest, APartitionedHandshakeTimesOut) {
  world_.network().partition(server_.id(), client_.id());
  start(1, 0ms);
  EXPECT_EQ(world_.run_until([&] { return calling_->done(); }, 5min), Outcome::Done);
  EXPECT_EQ(call_.connect_error, ETIMEDOUT);
}

TEST_F(SimNetTest, OneDirectionCanBeBlocked) {
  start(100'000, 10ms);
  world_.run_for(50ms);
  world_.network().block(client_.id(), server_.id());
  EXPECT_TRUE(world_.network().connected(server_.id(), client_.id()));
  world_.run_for(1ms);
  const std::size_t before = call_.got.size();
  world_.run_for(1s);
  EXPECT_EQ(call_.got.size(), before);
}

TEST_F(SimNetTest, ScheduledPartitionsComeAndGo) {
  world_.faults().partition_every = 1s;
  world_.faults().partition_lasts = 100ms;
  int cut = 0;
  int whole = 0;
  world_.start_fault_schedule();
  for (int i = 0; i < 2000; ++i) {
    world_.run_for(10ms);
    ++(world_.network().connected(0, 1) ? whole : cut);
  }
  EXPECT_GT(cut, 10);
  EXPECT_GT(whole, 1000);
  world_.stop_fault_schedule();
  world_.run_for(1s);
  EXPECT_EQ(world_.run_until([] { return false; }, 100s), Outcome::Stuck);
  EXPECT_TRUE(world_.network().connected(0, 1));
}

TEST_F(SimNetTest, ConnectionsCanBeResetOnDemand) {
  start(1000, 1ms);
  world_.run_for(50ms);
  EXPECT_EQ(world_.network().open_connections(), 1U);
  world_.network().reset_connections(server_.id(), client_.id());
  EXPECT_EQ(finish(1s), Outcome::Done);
  EXPECT_EQ(call_.server_error, ECONNRESET);
  EXPECT_EQ(call_.write_error, ECONNRESET);
}

TEST_F(SimNetTest, CountsTheStreamsAPeerHasAtANode) {
  EXPECT_EQ(world_.network().most_streams_of_a_peer(server_.id()), 0U);
  start(10, 1ms);
  world_.run_for(5ms);
  EXPECT_EQ(world_.network().most_streams_of_a_peer(server_.id()), 1U);
  EXPECT_EQ(world_.network().most_streams_of_a_peer(client_.id()), 0U);
  EXPECT_EQ(finish(1s), Outcome::Done);
  EXPECT_EQ(world_.network().most_streams_of_a_peer(server_.id()), 0U);
}

TEST_F(SimNetTest, AFullBacklogDelaysTheHandshake) {
  World world(3, {.network = {.backlog = 1}});
  Node& server = world.add_node();
  Node& client = world.add_node();
  auto listener = server.net().listen(server.endpoint(80));
  Call first;
  Call second;
  const Root a(client.core(), transmit(client.host(), server.endpoint(80), &first, 0, 0ms));
  world.run_for(10ms);
  const Root b(client.core(), transmit(client.host(), server.endpoint(80), &second, 0, 0ms));
  world.run_for(100ms);
  EXPECT_EQ(first.connect_error, 0);
  EXPECT_EQ(second.connect_error, -1);
  int error = 0;
  auto accepted = (*listener)->try_accept(error);
  EXPECT_EQ(world.run_until([&] { return b.done(); }, 10s), Outcome::Done);
  EXPECT_EQ(second.connect_error, 0);
  EXPECT_GE(world.now().time_since_epoch(), 1s);
}

TEST_F(SimNetTest, PortsOfOtherProcessesAreTaken) {
  server_.net().occupy(80);
  const auto taken = server_.net().listen(server_.endpoint(80));
  ASSERT_FALSE(taken.has_value());
  EXPECT_NE(taken.error().message.find("in use"), std::string::npos);
  server_.net().release(80);
  EXPECT_TRUE(server_.net().listen(server_.endpoint(80)).has_value());
}

TEST_F(SimNetTest, PortZeroPicksAFreePort) {
  const auto a = server_.net().listen(server_.endpoint(0));
  const auto b = server_.net().listen(server_.endpoint(0));
  EXPECT_NE((*a)->local().port, 0);
  EXPECT_NE((*a)->local().port, (*b)->local().port);
}

TEST_F(SimNetTest, LoopbackStaysOnTheNode) {
  auto listener = server_.net().listen(Endpoint::loopback(80));
  Call near;
  Call far;
  const Root local(server_.core(), transmit(server_.host(), Endpoint::loopback(80), &near, 0, 0ms));
  const Root remote(client_.core(), transmit(client_.host(), server_.endpoint(80), &far, 0, 0ms));
  world_.run_for(10ms);
  EXPECT_EQ(near.connect_error, 0);
  EXPECT_EQ(far.connect_error, ECONNREFUSED);
}

TEST_F(SimNetTest, UnknownAddressesAreUnreachable) {
  const Root root(client_.core(),
                  transmit(client_.host(), *Endpoint::parse("10.9.9.9:80"), &call_, 0, 0ms));
  world_.run_for(10ms);
  EXPECT_EQ(call_.connect_error, EHOSTUNREACH);
}

TEST_F(SimNetTest, CoresShareAnEndpoint) {
  auto first = server_.net().listen(server_.endpoint(80));
  auto second = server_.net().listen(server_.endpoint(80));
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(std::move(*client_.net().connect(server_.endpoint(80))));
  }
  world_.run_for(10ms);
  std::array<int, 2> accepted{};
  for (std::size_t i = 0; i < 2; ++i) {
    int error = 0;
    while ((i == 0 ? *first : *second)->try_accept(error) != nullptr) ++accepted[i];
  }
  EXPECT_EQ(accepted[0] + accepted[1], 20);
  EXPECT_GT(accepted[0], 0);
  EXPECT_GT(accepted[1], 0);
}

TEST_F(SimNetTest, APowerCutIsSilentAndTheRestartedNodeResets) {
  start(100'000, 10ms);
  world_.run_for(100ms);
  server_.power_cut();
  serving_.reset();
  world_.run_for(1s);
  EXPECT_FALSE(calling_->done()) << "nobody told the sender";
  server_.restart();
  EXPECT_EQ(world_.run_until([&] { return calling_->done(); }, 10s), Outcome::Done);
  EXPECT_EQ(call_.write_error, ECONNRESET);
}

TEST_F(SimNetTest, ARestartedNodeListensAgain) {
  start(1, 0ms);
  EXPECT_EQ(finish(1s), Outcome::Done);
  server_.power_cut();
  Call waiting;
  const Root early(client_.core(),
                   transmit(client_.host(), server_.endpoint(80), &waiting, 1, 0ms));
  world_.run_for(100ms);
  server_.restart();
  Call served;
  const Root serving(server_.core(), receive(server_.host(), server_.endpoint(80), &served));
  EXPECT_EQ(world_.run_until([&] { return serving.done(); }, 10s), Outcome::Done);
  EXPECT_EQ(served.got.size(), 1000U);
}

Task<void> count_call(BlockingPool* pool, int* ran, std::vector<base::Code>* refused) {
  const base::Result<int> result =
      co_await pool->run({"test", kCallersBudget}, [ran] { return ++*ran; });
  if (!result) refused->push_back(result.error().code);
}

TEST_F(SimNetTest, BlockingPoolIsBoundedAndDropsOnPowerCut) {
  World world(5);
  Node& node = world.add_node({.blocking = {.capacity = 2}});
  std::vector<base::Code> refused;
  int ran = 0;
  std::vector<std::unique_ptr<Root>> roots;
  const auto call = [&] {
    roots.push_back(
        std::make_unique<Root>(node.core(), count_call(&node.blocking(), &ran, &refused)));
  };
  for (int i = 0; i < 5; ++i) call();
  world.run_for(0ms);
  EXPECT_EQ(node.blocking().depth(), 2U);
  world.run_for(1s);
  EXPECT_EQ(ran, 5) << "those in line had their turn";
  for (int i = 0; i < 5; ++i) call();
  world.run_for(0ms);
  roots.clear();
  world.run_for(1s);
  EXPECT_EQ(ran, 7) << "queued work of aborted callers still runs, and no other";
  for (int i = 0; i < 3; ++i) call();
  world.run_for(0ms);
  node.power_cut();
  world.run_for(1s);
  EXPECT_EQ(ran, 7);
  EXPECT_TRUE(refused.empty());
}

TEST_F(SimNetTest, BlockingPoolHoldsBackByChance) {
  world_.faults().reject_blocking = 900'000;
  std::vector<base::Code> refused;
  int ran = 0;
  std::vector<std::unique_ptr<Root>> roots;
  for (int i = 0; i < 20; ++i) {
    roots.push_back(
        std::make_unique<Root>(server_.core(), count_call(&server_.blocking(), &ran, &refused)));
  }
  world_.run_for(1s);
  EXPECT_EQ(ran, 20);
  EXPECT_TRUE(refused.empty());
}

TEST_F(SimNetTest, BlockingPoolThatStaysStuckIsBusyInTheEnd) {
  world_.faults().reject_blocking = kAlways;
  std::vector<base::Code> refused;
  int ran = 0;
  const Root root(server_.core(), count_call(&server_.blocking(), &ran, &refused));
  world_.run_for(kBlockingPatience - 1ms);
  EXPECT_TRUE(refused.empty());
  world_.run_for(1ms);
  EXPECT_EQ(refused, std::vector{base::Code::Busy});
  EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace ron::platform::sim
