#include "http/body.h"

#include <charconv>
#include <string>

#include <zlib.h>

#include "http/test_support.h"

namespace ron::http {
namespace {

using namespace test;
using base::Code;

std::string gzip(std::string_view plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string chunked(std::string_view body, std::size_t chunk) {
  std::string out;
  for (std::size_t at = 0; at < body.size(); at += chunk) {
    const std::string_view piece = body.substr(at, chunk);
    char size[16];
    out.append(size, std::to_chars(size, size + sizeof size, piece.size(), 16).ptr);
    out.append("\r\n").append(piece).append("\r\n");
  }
  return out + "0\r\n\r\n";
}

// What the handler saw of the last body.
struct Seen {
  std::string text;
  std::size_t pieces = 0;
  std::optional<Code> code;
  bool finished = false;
};

Task<Response> whole(Request* request, Seen* seen) {
  base::Result<base::Buffer> body = co_await request->body->read_all();
  seen->finished = request->body->finished();
  if (!body) {
    seen->code = body.error().code;
    co_return Response::error(body.error(), request->corr_id);
  }
  seen->text = base::as_text(body->view());
  co_return Response(200);
}

Task<Response> raw(Request* request, Seen* seen) {
  for (;;) {
    const base::Result<base::ByteView> piece = co_await request->body->next_raw();
    seen->finished = request->body->finished();
    if (!piece) {
      seen->code = piece.error().code;
      co_return Response::error(piece.error(), request->corr_id);
    }
    if (piece->empty()) co_return Response(200);
    seen->text += base::as_text(*piece);
    ++seen->pieces;
  }
}

Task<Response> checked(Request* request, Seen* seen) {
  base::Result<base::Buffer> body = co_await request->body->read_checked();
  if (!body) {
    seen->code = body.error().code;
    co_return Response::error(body.error(), request->corr_id);
  }
  seen->text = base::as_text(body->view());
  co_return Response(200);
}

// Whoever finds out late what the capability allows, as a service that reads first.
Task<Response> limited_after(Request* request, std::uint64_t most) {
  base::Result<base::Buffer> body = co_await request->body->read_all();
  if (!body) co_return Response::error(body.error(), request->corr_id);
  const base::Result<> within = request->limit_body(most);
  if (!within) co_return Response::error(within.error(), request->corr_id);
  co_return Response(200);
}

constexpr std::string_view kChunked = "Transfer-Encoding: chunked\r\n";

std::string length(std::size_t bytes) {
  return "Content-Length: " + std::to_string(bytes) + "\r\n";
}

// Waits for the start of the body, and reads it when it is told to.
struct Starting {
  base::Duration patience = 100ms;
  std::optional<base::Duration> began;  // when the start was there
  std::optional<Code> code;
};

Task<Response> start_first(Request* request, Starting* starting, Seen* seen) {
  const base::Result<> begun = co_await request->body->await_start(starting->patience);
  starting->began = since_start(platform::Executor::current()->now());
  if (!begun) {
    starting->code = begun.error().code;
    co_return Response::error(begun.error(), request->corr_id);
  }
  co_return co_await whole(request, seen);
}

// Counts what a reader says of its waiting, and takes its time before it lets it go on.
class CountingWatch final : public BodyWatch {
 public:
  void wait_begins() noexcept override { ++begun; }
  Task<base::Result<>> wait_ends() override {
    ++ended;
    co_await runtime::sleep_for(1s);
    if (refuses) co_return base::fail(Code::Busy, "no place");
    co_return base::Result<>();
  }
  int begun = 0;
  int ended = 0;
  bool refuses = false;
};

Task<Response> watched(Request* request, CountingWatch* watch, Seen* seen) {
  request->body->set_watch(watch);
  Response response = co_await whole(request, seen);
  request->body->set_watch(nullptr);
  co_return response;
}

class BodyReaderTest : public ServerTest {
 protected:
  void SetUp() override {
    make();
    server_->add(Method::Put, "/whole",
                 [this](Request* request) { return whole(request, &seen_); });
    server_->add(Method::Put, "/raw", [this](Request* request) { return raw(request, &seen_); });
    server_->add(Method::Put, "/start",
                 [this](Request* request) { return start_first(request, &starting_, &seen_); });
    server_->add(Method::Put, "/watched",
                 [this](Request* request) { return watched(request, &watch_, &seen_); });
    start();
    client_ = connect();
  }
  static std::string head(std::string_view path, std::string_view fields) {
    return "PUT " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
  }
  Answer put(std::string_view path, std::string_view fields, std::string_view body) {
    return client_->ask(head(path, fields) + std::string(body));
  }

  Seen seen_;
  Starting starting_;
  CountingWatch watch_;
  std::unique_ptr<RawClient> client_;
};

TEST_F(BodyReaderTest, ReadsABodyByItsLength) {
  EXPECT_EQ(put("/whole", length(5), "hello").status, 200);
  EXPECT_EQ(seen_.text, "hello");
  EXPECT_TRUE(seen_.finished);
  EXPECT_EQ(put("/whole", length(5), "again").status, 200);
}

TEST_F(BodyReaderTest, ReadsAnEmptyBody) {
  EXPECT_EQ(put("/whole", length(0), "").status, 200);
  EXPECT_EQ(put("/raw", "", "").status, 200);
  EXPECT_EQ(seen_.pieces, 0U);
  EXPECT_TRUE(seen_.finished);
}

TEST_F(BodyReaderTest, ReadsABodyThatArrivesInParts) {
  client_->send(head("/whole", length(6)) + "abc");
  world_.run_for(4s);
  EXPECT_EQ(client_->ask("def").status, 200);
  EXPECT_EQ(seen_.text, "abcdef");
}

TEST_F(BodyReaderTest, TheStartOfASmallBodyIsAllOfIt) {
  starting_.patience = base::Duration::max();
  client_->send(head("/start", length(6)) + "abc");
  world_.run_for(4s);
  EXPECT_FALSE(starting_.began);
  EXPECT_EQ(client_->ask("def").status, 200);
  EXPECT_TRUE(starting_.began);
  EXPECT_EQ(seen_.text, "abcdef") << "it is still there to be read";
}

TEST_F(BodyReaderTest, TheStartOfALargeBodyIsABufferFull) {
  const std::string body(40'000, 'b');
  client_->send(head("/start", length(body.size())) + body.substr(0, 1000));
  world_.run_for(50ms);
  EXPECT_FALSE(starting_.began);
  client_->send(body.substr(1000, 30'000));
  world_.run_for(10ms);
  EXPECT_TRUE(starting_.began);
  EXPECT_EQ(client_->ask(body.substr(31'000)).status, 200);
  EXPECT_EQ(seen_.text, body);
}

TEST_F(BodyReaderTest, AStartIsNotWaitedForWithoutPatience) {
  const base::Duration before = now();
  client_->send(head("/start", kChunked) + "5\r\nhel");
  world_.run_for(1s);
  ASSERT_TRUE(starting_.began);
  EXPECT_GE(*starting_.began - before, 100ms);
  EXPECT_LE(*starting_.began - before, 110ms);
  EXPECT_EQ(client_->ask("lo\r\n0\r\n\r\n").status, 200);
  EXPECT_EQ(seen_.text, "hello");
}

TEST_F(BodyReaderTest, TheStartOfShortChunksIsAllOfThem) {
  starting_.patience = 10s;
  const base::Duration before = now();
  EXPECT_EQ(put("/start", kChunked, "5\r\nhello\r\n0\r\n\r\n").status, 200);
  EXPECT_LE(*starting_.began - before, 10 * kTrip);
  EXPECT_EQ(seen_.text, "hello");
}

TEST_F(BodyReaderTest, AStartThatDripsIsUnderTheReadTimeout) {
  starting_.patience = base::Duration::max();
  client_->send(head("/start", length(1000)) + "a");
  for (int i = 0; i < 5; ++i) {
    world_.run_for(900ms);
    client_->send("b");
  }
  EXPECT_EQ(client_->answer().status, 408);
  EXPECT_EQ(starting_.code, Code::ReadTimeout);
}

TEST_F(BodyReaderTest, WhoWaitsForConsentIsNotWaitedFor) {
  starting_.patience = base::Duration::max();
  client_->send(head("/start", length(5) + "Expect: 100-continue\r\n"));
  ASSERT_EQ(world_.run_until([&] { return starting_.began.has_value(); }, 1s), sim::Outcome::Done);
  EXPECT_EQ(client_->answer().status, 100);
  EXPECT_EQ(client_->ask("hello").status, 200);
}

TEST_F(BodyReaderTest, AWatchIsToldOfAWait) {
  client_->send(head("/watched", length(6)) + "abc");
  world_.run_for(1s);
  EXPECT_EQ(watch_.begun, 1);
  EXPECT_EQ(watch_.ended, 0);
  client_->send("def");
  world_.run_for(500ms);
  EXPECT_EQ(watch_.ended, 1);
  EXPECT_TRUE(seen_.text.empty()) << "its reader does not go on before the watch says so";
  EXPECT_EQ(client_->answer().status, 200);
  EXPECT_EQ(seen_.text, "abcdef");
}

TEST_F(BodyReaderTest, AWatchHearsNothingOfABodyThatIsThere) {
  EXPECT_EQ(put("/watched", length(5), "hello").status, 200);
  EXPECT_EQ(put("/watched", kChunked, "5\r\nhello\r\n0\r\n\r\n").status, 200);
  EXPECT_EQ(watch_.begun, 0);
}

TEST_F(BodyReaderTest, WhatAWatchRefusesIsTheReadersError) {
  watch_.refuses = true;
  client_->send(head("/watched", length(6)) + "abc");
  world_.run_for(1s);
  EXPECT_EQ(client_->ask("def").status, 429);
  EXPECT_EQ(seen_.code, Code::Busy);
}

// Decoders take megabytes: clients that take their time hold none, and a crowd waits for its turn.
TEST_F(BodyReaderTest, ASlowClientHoldsNoDecoder) {
  const std::string body = gzip(std::string(1000, 'z'));
  const std::string fields = length(body.size()) + "Content-Encoding: gzip\r\n";
  std::vector<std::unique_ptr<RawClient>> slow_clients;
  for (std::size_t i = 0; i < 2 * kDecodersPerCore; ++i) {
    slow_clients.push_back(connect());
    slow_clients.back()->send(head("/whole", fields) + body.substr(0, body.size() - 1));
  }
  world_.run_for(1s);
  EXPECT_EQ(put("/whole", fields, body).status, 200);
  for (const auto& client : slow_clients) client->send(body.substr(body.size() - 1));
  for (const auto& client : slow_clients) EXPECT_EQ(client->answer().status, 200);
  EXPECT_EQ(seen_.text, std::string(1000, 'z'));
}

TEST_F(BodyReaderTest, EnoughProgressRestartsTheReadTimeout) {
  const std::string part(Wire::kProgressBytes, 'p');
  client_->send(head("/whole", length(5 * part.size())));
  for (int i = 0; i < 4; ++i) {
    world_.run_for(4s);
    client_->send(part);
  }
  world_.run_for(4s);
  EXPECT_EQ(client_->ask(part).status, 200);
  EXPECT_EQ(seen_.text.size(), 5 * part.size());
}

TEST_F(BodyReaderTest, ADribbledBodyIs408AtTheReadTimeout) {
  const base::Duration begun = now();
  client_->send(head("/whole", length(5)));
  world_.run_for(4s);
  client_->send("a");
  const Answer answer = client_->answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(since_start(answer.at) - begun, kTrip + 5s + kTrip);
}

TEST_F(BodyReaderTest, HandsOutRawPiecesAsTheyArrive) {
  client_->send(head("/raw", length(6)) + "abc");
  world_.run_for(1s);
  EXPECT_EQ(seen_.text, "abc");
  EXPECT_EQ(client_->ask("def").status, 200);
  EXPECT_EQ(seen_.pieces, 2U);
  EXPECT_EQ(seen_.text, "abcdef");
}

TEST_F(BodyReaderTest, ReadsALargeBodyByPieces) {
  const std::string body(64 * base::kKiB, 'x');
  EXPECT_EQ(put("/raw", length(body.size()), body).status, 200);
  EXPECT_EQ(seen_.text, body);
}

TEST_F(BodyReaderTest, ReadsAChunkedBody) {
  EXPECT_EQ(put("/whole", kChunked, "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nT: v\r\n\r\n").status,
            200);
  EXPECT_EQ(seen_.text, "hello world");
  EXPECT_EQ(put("/raw", kChunked, "1\r\nx\r\n0\r\n\r\n").status, 200);
}

TEST_F(BodyReaderTest, DecodesACodedBody) {
  const std::string plain(20'000, 'z');
  const std::string coded = gzip(plain);
  EXPECT_EQ(put("/whole", "Content-Encoding: gzip\r\n" + length(coded.size()), coded).status, 200);
  EXPECT_EQ(seen_.text, plain);
}

TEST_F(BodyReaderTest, DecodesACodedChunkedBody) {
  const std::string coded = gzip("hello");
  std::string body;
  for (const char byte : coded) body += "1\r\n" + std::string(1, byte) + "\r\n";
  EXPECT_EQ(put("/whole", "Content-Encoding: gzip\r\n" + std::string(kChunked), body + "0\r\n\r\n")
                .status,
            200);
  EXPECT_EQ(seen_.text, "hello");
}

TEST_F(BodyReaderTest, ATruncatedCodedBodyIsMalformed) {
  const std::string coded = gzip("hello").substr(0, 12);
  EXPECT_EQ(put("/whole", "Content-Encoding: gzip\r\n" + length(coded.size()), coded).status, 400);
}

TEST_F(BodyReaderTest, ADeclaredLengthOverTheCapIsRefusedUnread) {
  const std::size_t over = 64 * base::kKiB + 1;
  const Answer answer = put("/whole", length(over), "");
  EXPECT_EQ(answer.status, 413);
  EXPECT_NE(answer.body.find("\"BodyCap\""), std::string::npos);
  EXPECT_FALSE(seen_.code);
  EXPECT_EQ(counted("rejected_total", "body-cap"), 1);
}

TEST_F(BodyReaderTest, ABodyOfExactlyTheCapIsTaken) {
  const std::string body(64 * base::kKiB, 'x');
  EXPECT_EQ(put("/whole", length(body.size()), body).status, 200);
  client_->send(head("/whole", kChunked) + "10000\r\n" + body + "\r\n0\r\n\r\n");
  EXPECT_EQ(client_->answer().status, 200);
  EXPECT_EQ(seen_.text.size(), body.size());
}

// The chunk's size alone gives it away.
TEST_F(BodyReaderTest, AChunkedBodyOverTheCapIsRefusedBeforeItArrives) {
  EXPECT_EQ(put("/whole", kChunked, "10001\r\n").status, 413);
  EXPECT_EQ(seen_.code, Code::BodyCap);
  EXPECT_FALSE(seen_.finished);
  EXPECT_TRUE(client_->wait_closed());
}

TEST_F(BodyReaderTest, ManySmallChunksCannotPassTheCap) {
  std::string body;
  for (int i = 0; i < 9; ++i) body += "2000\r\n" + std::string(0x2000, 'x') + "\r\n";
  EXPECT_EQ(put("/raw", kChunked, body).status, 413);
  EXPECT_EQ(seen_.code, Code::BodyCap);
  EXPECT_LE(seen_.text.size(), 64 * base::kKiB);
  EXPECT_EQ(counted("rejected_total", "body-cap"), 1);
}

TEST_F(BodyReaderTest, ABodyThatExpandsTooMuchIsRefused) {
  const std::string coded = gzip(std::string(100'000, '\0'));
  const Answer answer = put("/whole", "Content-Encoding: gzip\r\n" + length(coded.size()), coded);
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(seen_.code, Code::DecodedRatio);
  EXPECT_EQ(counted("rejected_total", "decoded-ratio"), 1);
}

TEST_F(BodyReaderTest, UnknownAndNestedCodingsAreRefusedUnread) {
  EXPECT_EQ(put("/whole", "Content-Encoding: lzma\r\n" + length(1), "x").status, 415);
  client_ = connect();
  EXPECT_EQ(put("/whole", "Content-Encoding: gzip, gzip\r\n" + length(1), "x").status, 413);
  EXPECT_FALSE(seen_.code);
  EXPECT_EQ(counted("rejected_total", "decoded-cap"), 2);
}

TEST_F(BodyReaderTest, ABrokenChunkIsMalformed) {
  EXPECT_EQ(put("/whole", kChunked, "zz\r\n").status, 400);
  EXPECT_TRUE(client_->wait_closed());
}

TEST_F(BodyReaderTest, ABodyThatStallsIs408AtTheReadTimeoutExactly) {
  for (const std::string_view path : {"/whole", "/raw"}) {
    client_ = connect();
    const base::Duration begun = now();
    client_->send(head(path, length(10)) + "12345");
    const Answer answer = client_->answer();
    EXPECT_EQ(answer.status, 408);
    EXPECT_EQ(since_start(answer.at) - begun, kTrip + 5s + kTrip);
    EXPECT_EQ(seen_.code, Code::ReadTimeout);
    EXPECT_TRUE(client_->wait_closed());
  }
  EXPECT_EQ(counted("io_timeouts_total", "read"), 2);
}

TEST_F(BodyReaderTest, ABodyCutShortIsTheClientsMistake) {
  client_->send(head("/whole", length(10)) + "12345");
  world_.run_for(1s);
  client_->leave();
  world_.run_for(10ms);
  EXPECT_EQ(seen_.code, Code::Malformed);
  EXPECT_EQ(counted("http_connections"), 0);
  EXPECT_EQ(counted("io_timeouts_total", "read"), 0);
}

TEST_F(BodyReaderTest, DrainingDoesNotInterruptABody) {
  client_->send(head("/raw", length(6)) + "abc");
  world_.run_for(1s);
  server_->stop();
  world_.run_for(1s);
  EXPECT_EQ(client_->ask("def").status, 200);
  EXPECT_EQ(seen_.text, "abcdef");
}

// A server whose capability stage allows bodies of so many bytes.
class GrantedBodyTest : public BodyReaderTest {
 protected:
  static constexpr std::uint64_t kMost = 1000;

  void SetUp() override {
    server_.emplace(world_, node_, test_settings(),
                    [](Request& request, const Route&) { return request.limit_body(kMost); });
    server_->add(Method::Put, "/whole",
                 [this](Request* request) { return whole(request, &seen_); });
    server_->add(Method::Put, "/raw", [this](Request* request) { return raw(request, &seen_); });
    server_->add(Method::Put, "/checked",
                 [this](Request* request) { return checked(request, &seen_); });
    start();
  }
  Answer put_anew(std::string_view path, std::string_view fields, std::string_view body) {
    client_ = connect();
    seen_ = {};
    return put(path, fields, body);
  }
  static constexpr std::array<std::string_view, 3> kPaths = {"/whole", "/raw", "/checked"};
};

TEST_F(GrantedBodyTest, EveryReaderIsHeldToTheCapabilityWhateverTheFraming) {
  const std::string fits(kMost, 'x');
  const std::string over(kMost + 1, 'x');
  for (const std::string_view path : kPaths) {
    EXPECT_EQ(put_anew(path, length(fits.size()), fits).status, 200) << path;
    EXPECT_EQ(put_anew(path, length(over.size()), over).status, 403) << path;
    for (const std::size_t chunk :
         {std::size_t{1}, std::size_t{7}, std::size_t{1000}, over.size()}) {
      EXPECT_EQ(put_anew(path, kChunked, chunked(fits, chunk)).status, 200) << path << chunk;
      EXPECT_EQ(seen_.text, fits);
      const Answer refused = put_anew(path, kChunked, chunked(over, chunk));
      EXPECT_EQ(refused.status, 403) << path << chunk;
      EXPECT_NE(refused.body.find(R"("max_bytes":"1000")"), std::string::npos) << refused.body;
      EXPECT_EQ(seen_.code, Code::Forbidden);
      EXPECT_LE(seen_.text.size(), kMost);
    }
  }
  EXPECT_EQ(counted("rejected_total", "body-cap"), 0);
  EXPECT_GT(counted("rejected_total", "capability"), 0);
}

// The chunk's size alone gives it away.
TEST_F(GrantedBodyTest, ALargerChunkIsRefusedBeforeItArrives) {
  EXPECT_EQ(put_anew("/whole", kChunked, "3e9\r\n").status, 403);
}

TEST_F(GrantedBodyTest, WhatABodyDecodesToIsHeldToTheCapabilityToo) {
  const std::string coded = gzip(std::string(kMost + 1, 'z'));
  const std::string fields = "Content-Encoding: gzip\r\n" + length(coded.size());
  for (const std::string_view path : {"/whole", "/checked"}) {
    EXPECT_EQ(put_anew(path, fields, coded).status, 403) << path;
    EXPECT_EQ(seen_.code, Code::Forbidden);
  }
  const std::string small = gzip(std::string(kMost, 'z'));
  EXPECT_EQ(put_anew("/whole", "Content-Encoding: gzip\r\n" + length(small.size()), small).status,
            200);
}

// The server's own limits are told as such.
TEST_F(GrantedBodyTest, TheServersLimitsComeFirst) {
  EXPECT_EQ(put_anew("/whole", kChunked, "10001\r\n").status, 413);
  EXPECT_EQ(put_anew("/whole", length(64 * base::kKiB + 1), "").status, 413);
}

TEST_F(BodyReaderTest, ACapabilityThatIsLookedAtLateStillHolds) {
  server_.reset();
  make();
  server_->add(Method::Put, "/late", [](Request* request) { return limited_after(request, 5); });
  endpoint_ = server_->start(81);
  client_ = connect();
  EXPECT_EQ(put("/late", kChunked, chunked("hello", 2)).status, 200);
  EXPECT_EQ(put("/late", length(5), "hello").status, 200);
  EXPECT_EQ(put("/late", kChunked, chunked("hello!", 2)).status, 403);
  const std::string coded = gzip("hello!hello!");
  client_ = connect();
  EXPECT_EQ(put("/late", "Content-Encoding: gzip\r\n" + length(coded.size()), coded).status, 403);
}

}  // namespace
}  // namespace ron::http
