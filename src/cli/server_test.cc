#include "cli/server.h"

#include "http/client_test_support.h"

namespace ron::cli {
namespace {

using namespace http::test;

constexpr const char* kName = "storage.example";

Task<void> ask(Server* server, Outcome* out) {
  http::ClientRequest request;
  request.target = "/";
  auto response = co_await server->send(request, Deadline::in(60s));
  if (response) out->status = response->status();
  if (!response) out->error = response.error();
  out->done = true;
}

class ServerByNameTest : public ClientTest {
 protected:
  void start_named() {
    start();
    named_.emplace(*client_, peer_.resolver(), ServerUrl{.host = kName, .port = endpoint_.port});
  }
  Outcome asked() {
    Outcome out;
    const Root running(peer_.core(), ask(&*named_, &out));
    EXPECT_EQ(world_.run_until([&] { return out.done; }, 600s), sim::Outcome::Done);
    return out;
  }
  // Nobody listens at this node's own address.
  [[nodiscard]] platform::Endpoint dead() const { return peer_.endpoint(0); }

  std::optional<Server> named_;
};

TEST_F(ServerByNameTest, ANameIsFoundOnceAndThenKept) {
  start_named();
  peer_.resolver().set(kName, {endpoint_});
  EXPECT_EQ(asked().status, 200);
  peer_.resolver().set(kName, {});
  EXPECT_EQ(asked().status, 200);
}

TEST_F(ServerByNameTest, TheFirstAddressThatAnswersIsUsed) {
  start_named();
  peer_.resolver().set(kName, {dead(), endpoint_, dead()});
  EXPECT_EQ(asked().status, 200);
  const std::int64_t failures = errors("connect");
  EXPECT_EQ(asked().status, 200);
  EXPECT_EQ(errors("connect"), failures) << "the dead one was tried again";
}

TEST_F(ServerByNameTest, WhereNoAddressAnswersTheLastErrorIsTold) {
  start_named();
  peer_.resolver().set(kName, {dead(), dead()});
  EXPECT_EQ(asked().code(), Code::UpstreamFail);
  EXPECT_FALSE(named_->answered());
}

TEST_F(ServerByNameTest, AHostThatIsNotFoundIsNoObjectThatIsNotFound) {
  start_named();
  const Outcome out = asked();
  EXPECT_EQ(out.code(), Code::UpstreamFail);
  EXPECT_NE(out.error->message.find(kName), std::string::npos);
}

}  // namespace
}  // namespace ron::cli
