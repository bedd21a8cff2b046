// Objects of another machine's ron, which may be slow, wrong or a liar.
#include "services/edge/http_origin.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "base/limits.h"
#include "config/load.h"
#include "http/test_support.h"
#include "services/edge/wires.h"
#include "services/kit/representation.h"

namespace ron::edge {
namespace {

using namespace http::test;
using base::Code;
using base::Result;
using http::Request;
using http::Response;
using storage_api::ObjectStream;
using storage_api::Range;

constexpr std::size_t kLarge = base::limits::kDecodedBytes + 100'000;

std::string noise(std::size_t length, std::uint32_t seed) {
  std::string text(length, '\0');
  std::uint32_t state = seed * 2654435761U + 1;
  for (char& c : text) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>(state >> 24U);
  }
  return text;
}

template <class T>
std::optional<Code> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

// A ron at the node, asked by an edge at the peer.
class HttpOriginTest : public ServerTest {
 protected:
  void SetUp() override {
    make();
    server_->get("/o/{addr}", [this](Request* request) { return say(this, request); });
    start();
    origin_.emplace(HttpOriginParts{peer_.host(),
                                    *http::UpstreamAddress::parse("http://" + endpoint_.text()), "",
                                    nullptr, &meters_, &settings_});
  }

  base::ObjectId keep(const std::string& bytes) {
    const base::ObjectId id = b3::hash(base::as_bytes(bytes));
    objects_[id.text()] = bytes;
    return id;
  }
  Result<ObjectStream> open(base::ObjectId id, std::optional<Range> range = std::nullopt) {
    std::optional<Result<ObjectStream>> opened;
    const Root root(peer_.core(), open_into(this, id, range, &opened));
    EXPECT_EQ(world_.run_until([&] { return opened.has_value(); }, 1min), sim::Outcome::Done);
    return std::move(*opened);
  }
  // What the stream has left, or the error that ends it.
  Result<std::string> read(ObjectStream& stream) {
    std::optional<Result<std::string>> done;
    const Root root(peer_.core(), read_into(&stream, &done));
    EXPECT_EQ(world_.run_until([&] { return done.has_value(); }, 1min), sim::Outcome::Done);
    return std::move(*done);
  }

  std::map<std::string, std::string> objects_;
  std::uint64_t sent_ = 0;  // bytes of bodies
  static Task<void> open_into(HttpOriginTest* self, base::ObjectId id, std::optional<Range> range,
                              std::optional<Result<ObjectStream>>* out) {
    *out = co_await self->origin_->open(id, range, runtime::Deadline::in(30s));
  }

 private:
  static Task<Response> say(HttpOriginTest* self, Request* request) {
    const std::string& text = self->objects_.at(std::string(request->params[0]));
    base::Buffer bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    Response response = kit::answer(
        *request, std::make_shared<const kit::Representation>(
                      "tag", "ETag: \"tag\"\r\n", std::move(bytes), self->node_.host().send_arena));
    if (const auto* body = std::get_if<http::SharedBody>(&response.body)) {
      self->sent_ += body->bytes.size();
    }
    co_return response;
  }
  static Task<void> read_into(ObjectStream* stream, std::optional<Result<std::string>>* out) {
    std::string text;
    for (;;) {
      const auto piece = co_await stream->body->next();
      if (!piece) {
        *out = base::fail(piece.error());
        co_return;
      }
      if (piece->empty()) break;
      EXPECT_LE(piece->size(), base::limits::kDecodedBytes);
      text += base::as_text(*piece);
    }
    *out = std::move(text);
  }
  static SettingsPtr defaults() {
    config::Schema schema;
    schema.add(edge_section());
    return (*config::load(schema, {}))->get(edge_section());
  }

  runtime::Meters meters_{"svc-edge"};
  runtime::Topology topology_{kWires, meters_};
  runtime::Watch<SettingsPtr> settings_{topology_, kSettings, defaults()};
  std::optional<HttpOrigin> origin_;
};

TEST_F(HttpOriginTest, SmallAndLargeOnesAreReadWholeAndInRanges) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, std::size_t{1'000'000},
                                   std::size_t{base::limits::kDecodedBytes}, kLarge}) {
    const std::string text = noise(length, 1);
    const base::ObjectId id = keep(text);
    auto stream = open(id);
    ASSERT_TRUE(stream) << stream.error().message;
    EXPECT_EQ(stream->object_length, length);
    EXPECT_EQ(*read(*stream), text);
    if (length == 0) continue;
    for (const Range range : {Range{0, 1}, Range{length - 1, 1}, Range{length / 3, length / 2 + 1},
                              Range{length / 2, length}}) {
      auto part = open(id, range);
      ASSERT_TRUE(part) << part.error().message;
      EXPECT_EQ(*read(*part), text.substr(range.offset, range.length)) << range.offset;
    }
    EXPECT_EQ(code_of(open(id, Range{length, 1})), Code::RangeNotSatisfiable);
  }
}

TEST_F(HttpOriginTest, SlowReadersOfLargeOnesHoldUpNobody) {
  std::vector<ObjectStream> held;
  for (std::uint32_t i = 0; i < 3 * HttpOrigin::kVerifiedAtOnce; ++i) {
    auto stream = open(keep(noise(kLarge, i)));
    ASSERT_TRUE(stream) << i << ": " << stream.error().message;
    held.push_back(std::move(*stream));
  }
  EXPECT_EQ(*read(held.front()), noise(kLarge, 0)) << "whenever it gets to it";
}

// More at once than are verified at once.
TEST_F(HttpOriginTest, WhoHasToWaitIsServedInTurn) {
  const std::string text = noise(kLarge, 1);
  const base::ObjectId id = keep(text);
  std::vector<std::optional<Result<ObjectStream>>> opened(3 * HttpOrigin::kVerifiedAtOnce);
  std::vector<std::unique_ptr<Root>> roots;
  for (auto& one : opened) {
    roots.push_back(std::make_unique<Root>(peer_.core(), open_into(this, id, std::nullopt, &one)));
  }
  const auto is_done = [&] {
    return std::ranges::all_of(roots, [](const auto& root) { return root->done(); });
  };
  ASSERT_EQ(world_.run_until(is_done, 1min), sim::Outcome::Done);
  for (auto& one : opened) {
    ASSERT_TRUE(*one) << one->error().message;
    EXPECT_EQ(*read(**one), text);
  }
}

TEST_F(HttpOriginTest, APartOfWhatIsKnownCostsThatPart) {
  const std::string text = noise(kLarge, 1);
  const base::ObjectId id = keep(text);
  ASSERT_TRUE(open(id, Range{0, 10}));
  const std::uint64_t before = std::exchange(sent_, 0);
  EXPECT_GE(before, kLarge);
  auto part = open(id, Range{5'000'000, 100});
  ASSERT_TRUE(part);
  EXPECT_EQ(*read(*part), text.substr(5'000'000, 100));
  EXPECT_EQ(sent_, base::limits::kGroupBytes);
}

TEST_F(HttpOriginTest, WhatHasAnotherAddressNeverLeaves) {
  for (const std::size_t length : {std::size_t{10}, std::size_t{1'000'000}, kLarge}) {
    const base::ObjectId id = keep(noise(length, 1));
    objects_[id.text()][length / 2] ^= 1;
    EXPECT_EQ(code_of(open(id)), Code::IntegrityFail) << length;
    EXPECT_EQ(code_of(open(id, Range{0, 1})), Code::IntegrityFail) << length;
  }
}

// The first read was the truth.
TEST_F(HttpOriginTest, ALieInALaterPieceEndsIt) {
  const std::string text = noise(kLarge, 1);
  const base::ObjectId id = keep(text);
  auto stream = open(id);
  ASSERT_TRUE(stream);
  objects_[id.text()][6'000'000] ^= 1;
  EXPECT_EQ(code_of(read(*stream)), Code::IntegrityFail);
  EXPECT_EQ(code_of(open(id, Range{6'000'000, 1})), Code::IntegrityFail);
  auto other = open(id, Range{0, 100});
  ASSERT_TRUE(other);
  EXPECT_EQ(*read(*other), text.substr(0, 100));
}

}  // namespace
}  // namespace ron::edge
