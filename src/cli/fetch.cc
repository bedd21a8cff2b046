#include "cli/fetch.h"

#include <optional>
#include <string_view>
#include <utility>

#include "http/client.h"
#include "platform/posix/host.h"
#include "runtime/root_task.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;

// Lives on core 0 of its machine, from its first job to the machine's stop.
class Fetch : private platform::Job {
 public:
  Fetch(platform::posix::PosixHost& machine, platform::Endpoint endpoint, std::string target,
        FetchLimits limits)
      : Job(&Fetch::begin),
        machine_(machine),
        endpoint_(endpoint),
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
    http::Client client(machine_.host().net, {}, meters);
    const runtime::Deadline deadline = runtime::Deadline::in(limits_.timeout);
    outcome_ = co_await get(&client, deadline);
    co_await client.close(deadline);
  }

  platform::Task<base::Result<std::string>> get(http::Client* client, runtime::Deadline deadline) {
    http::ClientRequest request;
    request.endpoint = endpoint_;
    request.target = target_;
    auto response = co_await client->send(request, deadline);
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
  const platform::Endpoint endpoint_;
  const std::string target_;
  const FetchLimits limits_;
  base::Result<std::string> outcome_ = fail(Code::Internal, "the request did not end");
  std::optional<Root> root_;
};

}  // namespace

base::Result<platform::Endpoint> parse_base_url(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  std::string_view rest = url;
  if (rest.starts_with(kScheme)) rest.remove_prefix(kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const auto endpoint = platform::Endpoint::parse(rest);
  if (!url.starts_with(kScheme) || !endpoint) {
    return fail(Code::Malformed, "write the server as http://127.0.0.1:9081");
  }
  return endpoint;
}

base::Result<std::string> fetch(const std::string& base_url, const std::string& target,
                                const FetchLimits& limits) {
  const auto named = [&base_url](const base::Error& error) {
    return fail(error.code, base_url + ": " + error.message);
  };
  const auto endpoint = parse_base_url(base_url);
  if (!endpoint) return named(endpoint.error());
  platform::posix::PosixHost machine({.cores = 1, .blocking_threads = 1});
  auto body = Fetch(machine, *endpoint, target, limits).run();
  if (!body) return named(body.error());
  return body;
}

}  // namespace ron::cli
