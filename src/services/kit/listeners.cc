#include "services/kit/listeners.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/value.h"
#include "services/kit/wires.h"

namespace ron::kit {
namespace {

using base::Code;
using base::fail;
using platform::Task;
using runtime::Shutdown;

constexpr std::uint32_t kRoot = 0;

std::shared_ptr<const http::ServerSettings> settings_of(
    const std::shared_ptr<const ServiceConfig>& config) {
  return {config, &config->server};
}

// Services send bytes that strangers gave them, from one origin in a browser's eyes: each is what
// its Content-Type says, and no script, style or page that was uploaded as something else.
constexpr std::string_view kAsItSays = "X-Content-Type-Options: nosniff\r\n";

}  // namespace

Listeners::Listeners(ListenerParts parts, std::shared_ptr<const ServiceConfig> config)
    : parts_(std::move(parts)),
      config_(config),
      ingress_(*parts_.meters, config->server, parts_.authorize),
      admin_ingress_(*parts_.meters, config->server, parts_.authorize),
      public_({.host = parts_.host,
               .router = parts_.router,
               .ingress = &ingress_,
               .meters = parts_.meters,
               .log = parts_.log,
               .access = parts_.access,
               .standing_lines = parts_.relays ? "" : kAsItSays},
              settings_of(config)),
      admin_({.host = parts_.host.with_cores(1),
              .router = parts_.admin_router,
              .ingress = &admin_ingress_,
              .meters = parts_.meters,
              .log = parts_.log,
              .access = parts_.access,
              .standing_lines = kAsItSays},
             settings_of(config)),
      uds_({.host = parts_.host,
            .router = parts_.router,
            .ingress = &ingress_,
            .meters = parts_.meters,
            .log = parts_.log,
            .access = parts_.access,
            .admits = [this](const platform::Stream& stream) { return admits(stream); },
            .standing_lines = parts_.relays ? "" : kAsItSays},
           settings_of(config)) {}

Listeners::~Listeners() = default;

// By the system's word on who connects; runs on the core that accepts.
bool Listeners::admits(const platform::Stream& stream) const {
  const std::optional<std::uint32_t> uid = stream.peer_uid();
  if (!uid) return false;
  const auto config = config_.get().value;
  const config::TextList& allowed = config->uds.allow_uids;
  if (allowed.empty()) return *uid == kRoot || *uid == parts_.host.net.own_uid();
  return std::ranges::find(allowed, std::to_string(*uid)) != allowed.end();
}

Task<base::Result<platform::Endpoint>> Listeners::bind(http::Server* server, std::string key,
                                                       std::string to) {
  const std::string where = parts_.section + "." + key + ": ";
  const auto endpoint = platform::Endpoint::parse(to);
  if (!endpoint) co_return fail(Code::Malformed, where + endpoint.error().message);
  auto bound = co_await server->bind(*endpoint);
  if (!bound) co_return fail(Code::Internal, where + bound.error().message);
  co_return bound;
}

Task<base::Result<Endpoints>> Listeners::open() {
  const auto config = config_.get().value;
  Endpoints opened;
  const auto bound = co_await bind(&public_, "bind", config::print(config->bind));
  if (!bound) co_return fail(bound.error());
  opened.bind = *bound;
  const auto admin = co_await bind(&admin_, "admin", config::print(config->admin));
  if (!admin) {
    co_await public_.discard();
    co_return fail(admin.error());
  }
  opened.admin = *admin;
  if (!config->uds.path.empty()) {
    const auto uds = co_await bind(&uds_, "uds.path", "unix:" + config->uds.path);
    if (!uds) {
      co_await public_.discard();
      co_await admin_.discard();
      co_return fail(uds.error());
    }
    opened.uds = *uds;
    co_await uds_.adopt();
  }
  // Not left to the tasks: a reload may come before they run.
  co_await public_.adopt();
  co_await admin_.adopt();
  endpoints_ = std::move(opened);
  co_return endpoints_;
}

Task<base::Result<>> Listeners::prepare(std::shared_ptr<const ServiceConfig> next) {
  const auto before = config_.get().value;
  next_ = endpoints_;
  public_moves_ = before->bind != next->bind;
  admin_moves_ = before->admin != next->admin;
  if (public_moves_) {
    const auto bound = co_await bind(&public_, "bind", config::print(next->bind));
    if (!bound) co_return fail(bound.error());
    next_.bind = *bound;
  }
  if (admin_moves_) {
    const auto bound = co_await bind(&admin_, "admin", config::print(next->admin));
    if (!bound) {
      if (public_moves_) co_await public_.discard();
      co_return fail(bound.error());
    }
    next_.admin = *bound;
  }
  co_return base::Result<>();
}

Task<Endpoints> Listeners::adopt() {
  if (std::exchange(public_moves_, false)) co_await public_.adopt();
  if (std::exchange(admin_moves_, false)) co_await admin_.adopt();
  endpoints_ = next_;
  co_return endpoints_;
}

Task<void> Listeners::discard() {
  if (std::exchange(public_moves_, false)) co_await public_.discard();
  if (std::exchange(admin_moves_, false)) co_await admin_.discard();
}

Task<void> Listeners::apply(std::shared_ptr<const ServiceConfig> config) {
  config_.set(config);
  for (http::Server* server : {&public_, &admin_, &uds_}) {
    co_await server->apply(settings_of(config));
  }
}

// A Unix socket has no wire to tap: it stays plain.
Task<void> Listeners::apply(std::shared_ptr<const platform::TlsServer> tls) {
  for (http::Server* server : {&public_, &admin_}) co_await server->apply(tls);
}

// Not those of operators: a scrape every few seconds says nothing about clients.
void Listeners::trace(observe::SpanQueue& spans) noexcept {
  for (http::Server* server : {&public_, &uds_}) server->trace(spans);
}

void Listeners::tell_errors(const http::OnError& tell) {
  for (http::Server* server : {&public_, &uds_}) server->tell_errors(tell);
}

void Listeners::start_admin(runtime::Supervisor& supervisor) {
  supervisor.start(kAdminTask, *parts_.host.cores[0],
                   [this](Shutdown stop) { return admin_.run(0, std::move(stop)); });
}

void Listeners::start_public(runtime::Supervisor& supervisor) {
  for (std::size_t i = 0; i < parts_.host.cores.size(); ++i) {
    supervisor.start(kListenerTask, *parts_.host.cores[i],
                     [this, i](Shutdown stop) { return public_.run(i, std::move(stop)); });
    if (!endpoints_.uds) continue;
    supervisor.start(kListenerTask, *parts_.host.cores[i],
                     [this, i](Shutdown stop) { return uds_.run(i, std::move(stop)); });
  }
}

Task<void> Listeners::close_unserved() {
  for (http::Server* server : {&public_, &admin_, &uds_}) co_await server->close_unserved();
}

}  // namespace ron::kit
