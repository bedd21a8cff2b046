#include <cerrno>
#include <string>

#include "platform/contract_world.h"
#include "platform/test_tls.h"

namespace ron::platform::test {
namespace {

// What only TCP has: addresses, ports and what becomes of a connection nobody accepts.
class NetContract : public Contract {};
INSTANTIATE_TEST_SUITE_P(Worlds, NetContract, testing::ValuesIn(contract_cases()), case_name);

// What a stream does whatever it is made of.
enum class Transport : std::uint8_t { Tcp, Unix, Tls };

struct StreamCase {
  ContractCase world;
  Transport transport;
};

void PrintTo(const StreamCase& which, std::ostream* out) { *out << which.world.name; }

std::vector<StreamCase> stream_cases() {
  std::vector<StreamCase> cases;
  for (const ContractCase& world : contract_cases()) {
    if (world.name == "PosixPool") continue;  // its streams are PosixUring's
    cases.push_back({world, Transport::Tcp});
    cases.push_back({world, Transport::Unix});
    cases.push_back({world, Transport::Tls});
  }
  return cases;
}

std::string stream_case_name(const testing::TestParamInfo<StreamCase>& info) {
  constexpr std::array kNames = {"Tcp", "Unix", "Tls"};
  return info.param.world.name + kNames.at(static_cast<std::size_t>(info.param.transport));
}

class StreamContract : public testing::TestWithParam<StreamCase> {};
INSTANTIATE_TEST_SUITE_P(Transports, StreamContract, testing::ValuesIn(stream_cases()),
                         stream_case_name);

const TlsPair& tls() {
  static const TlsPair pair;
  return pair;
}

// What the two sides of a test share; both run on one thread in either world.
struct Meeting {
  explicit Meeting(ContractWorld& in, Transport over = Transport::Tcp)
      : transport(over),
        server(in.server()),
        client(over == Transport::Unix ? in.server() : in.client()),
        where(over == Transport::Unix ? Endpoint::unix_socket(in.directory() + "/sock").value()
                                      : in.address(0)) {}
  Transport transport;
  Host server;
  Host client;
  Endpoint where;
  Event listening;
  Event finished;
  std::unique_ptr<Listener> listener;
};

void listen(Meeting* meeting) {
  auto listener = meeting->server.net.listen(meeting->where);
  ASSERT_TRUE(listener.has_value()) << listener.error().message;
  meeting->where = (*listener)->local();
  meeting->listener = std::move(*listener);
  meeting->listening.set();
}

Task<void> shake_hands(Stream* stream) {
  const base::Result<> agreed = co_await stream->handshake(kNever);
  EXPECT_TRUE(agreed.has_value()) << agreed.error().message;
  EXPECT_FALSE(stream->needs_handshake());
}

Task<std::unique_ptr<Stream>> serve_one(Meeting* meeting) {
  listen(meeting);
  std::unique_ptr<Stream> stream = co_await accept(meeting->listener.get());
  if (meeting->transport == Transport::Tls) {
    stream = tls().server->secure(std::move(stream));
    co_await shake_hands(stream.get());
  }
  co_return stream;
}

Task<std::unique_ptr<Stream>> dial(Meeting* meeting) {
  co_await meeting->listening.wait();
  auto stream = meeting->client.net.connect(meeting->where);
  EXPECT_TRUE(stream.has_value());
  const int error = co_await established(stream->get());
  EXPECT_EQ(error, 0);
  if (meeting->transport == Transport::Tls) {
    stream = tls().client->secure(std::move(*stream), "localhost", 1'700'000'000);
    co_await shake_hands(stream->get());
  }
  co_return std::move(*stream);
}

std::string pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + i / 255);
  return text;
}

using Script = Task<void> (*)(Meeting*);

// Ends our side and waits for the peer's end: who goes at once may take the end with it.
Task<void> finish(Stream* stream) {
  stream->shutdown_write();
  co_await read_up_to(stream, 1);
}

void play(ContractWorld& world, Script server, Script client) {
  Meeting meeting(world);
  EXPECT_TRUE(world.run(server(&meeting), client(&meeting))) << "hung";
}

void play_streams(const StreamCase& which, Script server, Script client) {
  for (std::uint64_t seed = 1; seed <= which.world.seeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::unique_ptr<ContractWorld> world = which.world.make(seed);
    Meeting meeting(*world, which.transport);
    EXPECT_TRUE(world->run(server(&meeting), client(&meeting))) << "hung";
  }
}

Task<void> echo(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await serve_one(meeting);
  for (;;) {
    const ReadText read = co_await read_up_to(stream.get(), 16'384, 16'384);
    const int error = co_await write_all(stream.get(), read.text);
    EXPECT_EQ(error, 0);
    if (read.end == IoResult::Kind::Eof) break;
    EXPECT_EQ(read.end, IoResult::Kind::Bytes);
    if (read.end != IoResult::Kind::Bytes) break;
  }
  co_await finish(stream.get());
}

Task<void> expect_echo(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await dial(meeting);
  const std::string text = pattern(1'000'000);
  std::string back;
  std::size_t sent = 0;
  while (back.size() < text.size()) {
    const std::size_t part = std::min<std::size_t>(20'000, text.size() - sent);
    const int error = co_await write_all(stream.get(), text.substr(sent, part));
    EXPECT_EQ(error, 0);
    sent += part;
    if (sent == text.size()) stream->shutdown_write();  // and goes on reading
    // The echo comes back in whole 16 KiB pieces until the end.
    const std::size_t due = sent == text.size() ? sent : sent / 16'384 * 16'384;
    const ReadText read = co_await read_up_to(stream.get(), due - back.size());
    back += read.text;
    EXPECT_EQ(read.end, IoResult::Kind::Bytes);
    if (read.end != IoResult::Kind::Bytes) break;
  }
  EXPECT_TRUE(back == text);
}

TEST_P(StreamContract, BytesArriveInOrderBothWays) { play_streams(GetParam(), echo, expect_echo); }

Task<void> answer_after_eof(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await serve_one(meeting);
  const ReadText read = co_await read_up_to(stream.get(), 1'000);
  EXPECT_EQ(read.text, "question");
  EXPECT_EQ(read.end, IoResult::Kind::Eof);
  EXPECT_TRUE(stream->peer_gone());
  const int error = co_await write_all(stream.get(), "answer");
  EXPECT_EQ(error, 0);
  co_await finish(stream.get());
}

Task<void> ask_and_half_close(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await dial(meeting);
  co_await write_all(stream.get(), "question");
  stream->shutdown_write();
  const base::ByteView more = base::as_bytes("more");
  const IoResult late = stream->try_write({&more, 1});
  EXPECT_EQ(late.kind, IoResult::Kind::Failed);
  EXPECT_EQ(late.error, EPIPE);
  const ReadText read = co_await read_up_to(stream.get(), 1'000);
  EXPECT_EQ(read.text, "answer");
  EXPECT_EQ(read.end, IoResult::Kind::Eof);
}

TEST_P(StreamContract, HalfCloseLeavesTheOtherDirectionOpen) {
  play_streams(GetParam(), answer_after_eof, ask_and_half_close);
}

Task<void> send_and_close(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await serve_one(meeting);
  co_await write_all(stream.get(), "bye");
  co_await finish(stream.get());
}

Task<void> expect_hang_up(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await dial(meeting);
  while (!stream->peer_gone()) co_await pause(std::chrono::microseconds(500));
  // A read that takes all there is leaves the level up: no further edge will tell of the end.
  std::string text;
  std::array<std::byte, 64> buffer{};
  while (text.size() < 3) {
    EXPECT_TRUE(stream->readable().is_set());
    const IoResult result = stream->try_read(buffer);
    if (!result.ok()) continue;
    text += base::as_text(base::ByteView(buffer).first(result.bytes));
  }
  EXPECT_EQ(text, "bye");
  EXPECT_TRUE(stream->readable().is_set());
  const ReadText end = co_await read_up_to(stream.get(), 1);
  EXPECT_EQ(end.end, IoResult::Kind::Eof);
  const ReadText again = co_await read_up_to(stream.get(), 1);
  EXPECT_EQ(again.end, IoResult::Kind::Eof);
}

TEST_P(StreamContract, ReadableStaysSetAfterHangUpUntilTheEndIsRead) {
  play_streams(GetParam(), send_and_close, expect_hang_up);
}

Task<void> close_without_reading(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await serve_one(meeting);
  co_await stream->readable().wait();
}

Task<void> expect_reset(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await dial(meeting);
  co_await write_all(stream.get(), "unheard");
  const ReadText read = co_await read_up_to(stream.get(), 1);
  EXPECT_EQ(read.end, IoResult::Kind::Failed);
  EXPECT_EQ(read.error, ECONNRESET);
  EXPECT_TRUE(stream->peer_gone());
}

TEST_P(StreamContract, ClosingWithUnreadBytesResetsThePeer) {
  play_streams(GetParam(), close_without_reading, expect_reset);
}

Task<void> abort_without_reading(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await serve_one(meeting);
  co_await stream->readable().wait();
  stream->abort();
  EXPECT_TRUE(stream->readable().is_set());
  EXPECT_TRUE(stream->writable().is_set());
  std::array<std::byte, 8> buffer{};
  EXPECT_EQ(stream->try_read(buffer).error, ECONNABORTED);
  const base::ByteView text = base::as_bytes("x");
  EXPECT_EQ(stream->try_write({&text, 1}).error, ECONNABORTED);
}

TEST_P(StreamContract, AbortFailsLaterCallsAndResetsThePeer) {
  play_streams(GetParam(), abort_without_reading, expect_reset);
}

Task<void> send_and_abort(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await serve_one(meeting);
  co_await write_all(stream.get(), "half");
  co_await pause(std::chrono::milliseconds(5));
  stream->abort();
  stream->shutdown_write();  // too late
}

Task<void> expect_no_end(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await dial(meeting);
  const ReadText read = co_await read_up_to(stream.get(), 5);
  EXPECT_EQ(read.text, "half");
  // A Unix socket has no reset unless data is unread: there an abort looks like an end.
  const bool has_reset = !meeting->where.is_unix();
  EXPECT_EQ(read.end, has_reset ? IoResult::Kind::Failed : IoResult::Kind::Eof);
}

TEST_P(StreamContract, WhatIsAbortedDoesNotLookCompleteWhereThereIsAReset) {
  play_streams(GetParam(), send_and_abort, expect_no_end);
}

Task<void> listen_and_go(Meeting* meeting) {
  listen(meeting);
  meeting->listener.reset();
  co_return;
}

Task<void> expect_refused(Meeting* meeting) {
  co_await meeting->listening.wait();
  auto stream = meeting->client.net.connect(meeting->where);
  EXPECT_TRUE(stream.has_value());
  if (!stream) co_return;
  const int error = co_await established(stream->get());
  EXPECT_EQ(error, ECONNREFUSED);
  const int still = co_await established(stream->get());
  EXPECT_EQ(still, ECONNREFUSED);
  EXPECT_TRUE((*stream)->peer_gone());
}

TEST_P(NetContract, NobodyListensIsRefused) {
  in_each_world([](ContractWorld& world) { play(world, listen_and_go, expect_refused); });
}

Task<void> never_accept(Meeting* meeting) {
  listen(meeting);
  co_await meeting->listener->acceptable().wait();
  co_await meeting->finished.wait();
  meeting->listener.reset();
}

Task<void> expect_reset_while_waiting(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await dial(meeting);
  meeting->finished.set();
  const ReadText read = co_await read_up_to(stream.get(), 1);
  EXPECT_EQ(read.end, IoResult::Kind::Failed);
  EXPECT_EQ(read.error, ECONNRESET);
}

TEST_P(NetContract, ClosingAListenerResetsWhoWasNotAccepted) {
  in_each_world(
      [](ContractWorld& world) { play(world, never_accept, expect_reset_while_waiting); });
}

Task<void> read_late(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await serve_one(meeting);
  co_await meeting->finished.wait();
  const ReadText read = co_await read_up_to(stream.get(), 1'000'000'000, 65'536);
  EXPECT_EQ(read.end, IoResult::Kind::Eof);
}

Task<void> fill_the_pipe(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await dial(meeting);
  const std::string block(65'536, 'x');
  const base::ByteView span = base::as_bytes(block);
  std::size_t sent = 0;
  // Would block with the event down: nothing reads at the other end.
  for (;;) {
    const IoResult result = stream->try_write({&span, 1});
    sent += result.bytes;
    if (result.would_block() && !stream->writable().is_set()) {
      // The simulation may have cut a write short; then the event comes back.
      co_await pause(std::chrono::milliseconds(20));
      if (!stream->writable().is_set()) break;
    }
    EXPECT_LT(sent, 100'000'000U);
    if (sent > 100'000'000U) break;
  }
  meeting->finished.set();
  co_await stream->writable().wait();
  const int error = co_await write_all(stream.get(), block);  // what blocked is offered again
  EXPECT_EQ(error, 0);
  co_await finish(stream.get());
}

TEST_P(StreamContract, ASlowReaderMakesWritesBlock) {
  play_streams(GetParam(), read_late, fill_the_pipe);
}

Task<void> read_gathered(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await serve_one(meeting);
  const ReadText read = co_await read_up_to(stream.get(), 1'000);
  EXPECT_EQ(read.text, "abcdefghijkl");
}

Task<void> write_gathered(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await dial(meeting);
  const std::string text = "abcdefghijkl";
  std::size_t sent = 0;
  while (sent < text.size()) {
    std::vector<base::ByteView> spans;  // more than fit into one call, with empty ones between
    for (std::size_t i = sent; i < text.size(); ++i) {
      spans.push_back(base::as_bytes(std::string_view(text).substr(i, 1)));
      spans.emplace_back();
    }
    const IoResult result = stream->try_write(spans);
    if (result.would_block()) {
      co_await stream->writable().wait();
      continue;
    }
    EXPECT_TRUE(result.ok());
    EXPECT_LE(result.bytes, kGatherSpans);
    sent += result.bytes;
  }
}

TEST_P(StreamContract, GatheredWritesTakeAFewSpansAtATime) {
  play_streams(GetParam(), read_gathered, write_gathered);
}

Task<void> share_an_endpoint(Meeting* meeting) {
  listen(meeting);
  auto second = meeting->server.net.listen(meeting->where);
  EXPECT_TRUE(second.has_value());
  Endpoint wildcard = *Endpoint::parse("0.0.0.0:1");
  wildcard.port = meeting->where.port;
  auto overlapping = meeting->server.net.listen(wildcard);
  EXPECT_FALSE(overlapping.has_value());
  co_return;
}

Task<void> look_away(Meeting*) { co_return; }

TEST_P(NetContract, OneEndpointIsSharedAndAnOverlappingOneIsTaken) {
  in_each_world([](ContractWorld& world) { play(world, share_an_endpoint, look_away); });
}

Task<void> listen_elsewhere(Meeting* meeting) {
  auto listener = meeting->server.net.listen(*Endpoint::parse("203.0.113.7:80"));
  EXPECT_FALSE(listener.has_value());
  if (listener) co_return;
  EXPECT_EQ(listener.error().code, base::Code::UpstreamFail);
  EXPECT_NE(listener.error().message.find("203.0.113.7:80"), std::string::npos);
}

TEST_P(NetContract, ListeningOnAForeignAddressFails) {
  in_each_world([](ContractWorld& world) { play(world, listen_elsewhere, look_away); });
}

Task<void> read_forever(Stream* stream) { co_await read_up_to(stream, 1); }

Task<void> abort_a_reader(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await serve_one(meeting);
  {
    const Root reader(*Executor::current(), read_forever(stream.get()));
    co_await pause(std::chrono::milliseconds(2));
    EXPECT_FALSE(reader.done());
  }
  // The event is free for the next waiter.
  meeting->finished.set();
  const ReadText read = co_await read_up_to(stream.get(), 5);
  EXPECT_EQ(read.text, "hello");
}

Task<void> speak_late(Meeting* meeting) {
  const std::unique_ptr<Stream> stream = co_await dial(meeting);
  co_await meeting->finished.wait();
  co_await write_all(stream.get(), "hello");
}

TEST_P(StreamContract, AnAbortedReaderLeavesTheStreamUsable) {
  play_streams(GetParam(), abort_a_reader, speak_late);
}

}  // namespace
}  // namespace ron::platform::test
