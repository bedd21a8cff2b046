#include "cli/fetch.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "cli/server.h"
#include "http/client.h"
#include "platform/posix/host.h"
#include "runtime/root_task.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;

// For work whose request has ended.
constexpr base::Duration kJobGrace = std::chrono::seconds(1);

// Lives on core 0 of its machine, from its first job to the machine's stop.
class Fetch : private platform::Job {
 public:
  Fetch(platform::posix::PosixHost& machine, const ServerUrl& url,
        std::shared_ptr<const platform::TlsClient> tls, std::string target, FetchLimits limits)
      : Job(&Fetch::begin),
        machine_(machine),
        url_(url),
        tls_(std::move(tls)),
        target_(std::move(target)),
        limits_(limits) {}

  base::Result<std::string> run() {
    machine_.run(*this);
    root_.reset();
    return std::move(outcome_);
  }

 private:
  static void begin(Job& job) noexcept {
    auto& self = static_cast<Fetch&>(job);
    self.root_.emplace(self.work(), [](runtime::RootTask& root, std::exception_ptr) noexcept {
      static_cast<Root&>(root).owner->machine_.stop();
    });
    self.root_->owner = &self;
  }

  platform::Task<void> work() {
    runtime::Meters meters("cli");
    http::Client client(machine_.host().net, {.tls = tls_, .clock = &machine_.host().clock},
                        meters);
    Server server(client, machine_.host().resolver, url_);
    const runtime::Deadline deadline = runtime::Deadline::in(limits_.timeout);
    outcome_ = co_await get(&server, deadline);
    co_await client.close(deadline);
  }

  platform::Task<base::Result<std::string>> get(Server* server, runtime::Deadline deadline) {
    http::ClientRequest request;
    request.target = target_;
    auto response = co_await server->send(request, deadline);
    if (!response) co_return fail(response.error());
    const auto body = co_await response->read_all(limits_.body_bytes);
    if (!body) co_return fail(body.error());
    if (response->status() != 200) {
      co_return fail(Code::UpstreamFail, "answered " + std::to_string(response->status()));
    }
    co_return std::string(base::as_text(body->view()));
  }

  struct Root : runtime::RootTask {
    using RootTask::RootTask;
    Fetch* owner = nullptr;
  };

  platform::posix::PosixHost& machine_;
  const ServerUrl url_;
  const std::shared_ptr<const platform::TlsClient> tls_;
  const std::string target_;
  const FetchLimits limits_;
  base::Result<std::string> outcome_ = fail(Code::Internal, "the request did not end");
  std::optional<Root> root_;
};

}  // namespace

base::Result<std::string> fetch(const ServerUrl& server,
                                const std::shared_ptr<const platform::TlsClient>& tls,
                                const std::string& target, const FetchLimits& limits) {
  auto machine = std::make_unique<platform::posix::PosixHost>(
      platform::posix::PosixHostOptions{.cores = 1, .blocking_threads = 1});
  auto body = Fetch(*machine, server, tls, target, limits).run();
  // A name service that does not answer is left behind, and with it what its thread uses.
  if (!machine->close_blocking(kJobGrace).empty()) static_cast<void>(machine.release());
  if (!body) return fail(body.error().code, server.text() + ": " + body.error().message);
  return body;
}

}  // namespace ron::cli
