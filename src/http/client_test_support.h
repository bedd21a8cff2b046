// For the tests of the client: requests as tasks, against a real server in a simulated world.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "http/client.h"
#include "http/test_support.h"

namespace ron::http::test {

using base::Code;
using runtime::Deadline;

// What became of one request.
struct Outcome {
  bool done = false;
  int status = 0;
  std::string body;
  std::optional<base::Error> error;
  base::Duration at{};

  [[nodiscard]] std::optional<Code> code() const {
    return error ? std::optional(error->code) : std::nullopt;
  }
};

inline Task<void> fetch(Client* client, ClientRequest request, Deadline deadline, Outcome* out) {
  base::Result<ClientResponse> response = co_await client->send(request, deadline);
  if (response) {
    out->status = response->status();
    const base::Result<base::Buffer> body = co_await response->read_all(base::kMiB);
    if (body) out->body = base::as_text(body->view());
    if (!body) out->error = body.error();
  } else {
    out->error = response.error();
  }
  out->at = since_start(platform::Executor::current()->now());
  out->done = true;
}

inline Task<Response> refuse(Request*) { co_return Response::text(403, "no", "text/plain"); }

// Our client against our server.
class ClientTest : public ServerTest {
 protected:
  void SetUp() override {
    make();
    server_->get("/", hello);
    server_->get("/slow", slow);
    server_->add(Method::Put, "/echo", echo);
    server_->add(Method::Post, "/echo", echo);
    server_->add(Method::Post, "/refuse", refuse);
    server_->add(Method::Delete, "/", hello);
  }
  void start(ClientSettings settings = {}) {
    ServerTest::start();
    client_.emplace(peer_.net(), settings, meters_);
  }
  ClientRequest request(std::string_view target = "/", Method method = Method::Get) const {
    return {.endpoint = endpoint_, .method = method, .target = target};
  }
  // Starts a request; it is aborted when the handle goes.
  std::unique_ptr<Root> begin(ClientRequest what, Outcome& out, base::Duration within = 60s) {
    return std::make_unique<Root>(peer_.core(),
                                  fetch(&*client_, what, Deadline(world_.now() + within), &out));
  }
  Outcome run(ClientRequest what, base::Duration within = 60s) {
    Outcome out;
    const auto running = begin(what, out, within);
    EXPECT_EQ(world_.run_until([&] { return out.done; }, 600s), sim::Outcome::Done);
    return out;
  }
  std::size_t close(base::Duration within) {
    std::size_t cut = 0;
    const Root closing(peer_.core(), close_client(&*client_, within, &cut));
    EXPECT_EQ(world_.run_until([&] { return closing.done(); }, 600s), sim::Outcome::Done);
    return cut;
  }
  static Task<void> close_client(Client* client, base::Duration within, std::size_t* cut) {
    *cut = co_await client->close(Deadline::in(within));
  }
  [[nodiscard]] std::int64_t errors(std::string_view kind) const {
    return reading(meters_, "upstream_errors_total", kind);
  }
  [[nodiscard]] std::int64_t connections(std::string_view state) const {
    return reading(meters_, "http_client_connections", state);
  }
  [[nodiscard]] std::int64_t opened() const { return counted("http_connections_total"); }

  runtime::Meters meters_{"svc-client"};
  std::optional<Client> client_;
};

}  // namespace ron::http::test
