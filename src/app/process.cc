#include "app/process.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include <unistd.h>

#include "app/keys.h"
#include "cli/exit.h"
#include "config/reload.h"
#include "observe/log.h"
#include "platform/posix/files.h"
#include "platform/posix/host.h"
#include "services/storage/service.h"

namespace ron::app {
namespace {

using base::fail;
using platform::Signal;
using platform::Task;

constexpr std::size_t kConfigFileBytes = base::kMiB;

// Log lines to standard error, from a thread of their own: a slow terminal never slows a request.
class LogWriter final : public observe::LogSink {
 public:
  explicit LogWriter(observe::LogHub& hub)
      : hub_(hub), thread_([this] {
          while (hub_.wait_and_drain(*this)) {
          }
        }) {}
  ~LogWriter() override {
    hub_.stop();
    thread_.join();
  }
  void write(std::string_view lines) override {
    std::fwrite(lines.data(), 1, lines.size(), stderr);
  }

 private:
  observe::LogHub& hub_;
  std::thread thread_;
};

void apply_access(observe::LogHub& hub, AccessLog access) {
  using observe::Level;
  using observe::LogFormat;
  hub.set_format(access == AccessLog::Text ? LogFormat::kText : LogFormat::kJson);
  hub.set_level(access == AccessLog::Off ? Level::kOff : Level::kInfo);
}

// Where this process finds its keys: in amnesia mode only where it is told to look.
kit::AuthConfig effective_auth(const ServeOptions& options, const config::Config& config) {
  const auto auth = config.get(kit::auth_section());
  if (config.get(storage::storage_section())->amnesia) return *auth;
  return DataDirectory{options.data_dir}.auth(*auth);
}

struct Prepared {
  std::shared_ptr<const auth::Keyring> keyring;
  bool is_first = true;  // start of this store; in memory each one is
};

// What a start needs of the disk. Nothing is touched in amnesia mode but what was asked for.
base::Result<Prepared> prepare_keys(const ServeOptions& options, const config::Config& config,
                                    const platform::Host& host) {
  const std::int64_t now = host.clock.unix_ms() / 1000;
  const DataDirectory directory{options.data_dir};
  const bool amnesia = config.get(storage::storage_section())->amnesia;
  Prepared out;
  if (!amnesia) {
    const auto prepared = prepare(directory, *config.get(kit::auth_section()), host.random, now);
    if (!prepared) return fail(prepared.error().code, "--data: " + prepared.error().message);
    out.is_first = *prepared;
  }
  auto keyring = load_keyring(effective_auth(options, config), host.random, now);
  if (!keyring) return fail(keyring.error());
  if (!amnesia) {
    const auto kept = keep_admin_token(directory, **keyring, host.random, now);
    if (!kept) return fail(kept.error().code, "--data: " + kept.error().message);
  }
  if (!options.token_out.empty()) {
    const auto token = mint_admin_token(**keyring, host.random, now);
    if (!token) return fail(token.error());
    const auto written = platform::posix::write_private_file(options.token_out, *token + "\n");
    if (!written) return fail(written.error().code, "--token-out: " + written.error().message);
  }
  out.keyring = std::move(*keyring);
  return out;
}

// The life of the process on core 0.
class Process {
 public:
  // `told_rate`: what the first start says of the rate of requests; none on later ones.
  Process(const ServeOptions& options, std::optional<std::uint64_t> told_rate,
          platform::posix::PosixHost& machine, observe::LogHub& logs, observe::LogHub& access,
          storage::Service& service)
      : options_(options),
        told_rate_(told_rate),
        machine_(machine),
        logs_(logs),
        access_(access),
        service_(service),
        host_(machine.host()),
        meters_(service.meters(), "process") {}

  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

  // Starts the life's task; runs as the machine's first job.
  void begin() {
    tasks_.emplace(meters_);
    tasks_->spawn(live());
  }

 private:
  Task<void> live() {
    service_.on_give_up([this] { fail_hard(); });
    const auto started = co_await service_.start();
    if (!started) {
      exit_code_ = cli::failed(started.error().message);
      machine_.stop();
      co_return;
    }
    announce(*started);
    if (told_rate_) explain_rate(*told_rate_);
    while (!stopped_) {
      const Signal signal = host_.signals.take();
      if (signal == Signal::Terminate) {
        terminate();
      } else if (signal == Signal::Reload && !stopping_) {
        co_await reload();
      } else if (signal == Signal::None) {
        co_await host_.signals.arrived().wait();
      }
    }
    machine_.stop();
  }

  // Each listener that came up is said once; scripts read the clients' one from standard output.
  void announce(const storage::Endpoints& endpoints) {
    const observe::Log log = service_.log();
    for (const auto& [key, at, before] :
         {std::tuple("storage.bind", endpoints.bind, announced_.bind),
          std::tuple("storage.admin", endpoints.admin, announced_.admin)}) {
      if (at != before && at.is_wildcard()) warn_of_everyone(key, at);
    }
    if (endpoints.bind != announced_.bind) {
      std::printf("svc-storage listening on %s\n", endpoints.bind.text().c_str());
      std::fflush(stdout);
      log.info("listening", {{"addr", endpoints.bind.text()}});
    }
    if (endpoints.admin != announced_.admin) {
      log.info("admin listening", {{"addr", endpoints.admin.text()}});
    }
    announced_ = endpoints;
  }

  // Requests and tokens are readable on the way, and whoever reaches the machine reaches this.
  void warn_of_everyone(const char* key, const platform::Endpoint& at) {
    service_.log().warn("listening on all addresses without TLS: tokens can be read on the way",
                        {{"key", key}, {"addr", at.text()}});
  }

  // The one default that surprises: the others are found by `ron config show`.
  void explain_rate(std::uint64_t max_rps) {
    service_.log().info(
        "first start: requests beyond this many per second are told to wait; "
        "storage.server.max_rps raises it",
        {{"max_rps", max_rps}});
  }

  // The first signal drains, the second aborts.
  void terminate() {
    if (std::exchange(stopping_, true)) {
      service_.log().warn("second stop signal: aborting");
      service_.abort_now();
      return;
    }
    tasks_->spawn(stop());
  }
  void fail_hard() {
    exit_code_ = cli::kExitFailed;
    terminate();
  }
  Task<void> stop() {
    co_await service_.stop();
    stopped_ = true;
    host_.signals.arrived().nudge();
  }

  Task<void> reload() {
    const observe::Log log = service_.log();
    const auto inputs = read_inputs(options_);
    if (!inputs) co_return refuse(config::ReloadFail::Io, inputs.error().message);
    auto next = config::reload(schema(), *service_.config(), *inputs);
    if (!next) co_return refuse(next.error().fail, next.error().message);
    const kit::AuthConfig auth = effective_auth(options_, *next->config);
    const auto keyring = auth.keys_dir.empty()
                             ? with_deny_list(*service_.keyring(), auth)
                             : load_keyring(auth, host_.random, host_.clock.unix_ms() / 1000);
    if (!keyring) co_return refuse(config::ReloadFail::Invalid, keyring.error().message);
    const auto log_config = next->config->get(log_section());
    const auto moved = co_await service_.reload(std::move(*next), *keyring);
    if (!moved) co_return refuse(config::ReloadFail::Rebind, moved.error().message);
    logs_.set_level(log_config->level);
    apply_access(access_, log_config->access);
    announce(*moved);
    log.info("configuration reloaded");
  }
  void refuse(config::ReloadFail why, std::string_view message) {
    service_.count_reload_failure(why);
    service_.log().error("reload refused, the old configuration stays",
                         {{"reason", config::reason(why)}, {"what", message}});
  }

  const ServeOptions& options_;
  const std::optional<std::uint64_t> told_rate_;
  platform::posix::PosixHost& machine_;
  observe::LogHub& logs_;
  observe::LogHub& access_;
  storage::Service& service_;
  platform::Host host_;
  bool stopping_ = false;
  bool stopped_ = false;
  int exit_code_ = cli::kExitClean;
  storage::Endpoints announced_;
  runtime::TaskMeters meters_;
  std::optional<runtime::TaskGroup> tasks_;
};

// A job that runs a function once.
template <class Function>
struct FirstJob : platform::Job {
  explicit FirstJob(Function what) : Job(&FirstJob::go), function(std::move(what)) {}
  static void go(Job& job) noexcept { static_cast<FirstJob&>(job).function(); }
  Function function;
};

}  // namespace

std::size_t core_count(const RuntimeConfig& config) {
  if (config.cores > 0) return config.cores;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? std::min<std::size_t>(static_cast<std::size_t>(online), base::limits::kCores)
                    : 1;
}

base::Result<config::Inputs> read_inputs(const ServeOptions& options) {
  config::Inputs inputs;
  inputs.file_name = options.config_file;
  inputs.flags = options.flags;
  inputs.environment = platform::posix::environment();
  if (!options.config_file.empty()) {
    auto text = platform::posix::read_small_file(options.config_file, kConfigFileBytes);
    if (!text) return fail(text.error().code, options.config_file + ": " + text.error().message);
    inputs.file_text = std::move(*text);
  }
  return inputs;
}

int serve_storage(const ServeOptions& options) {
  const auto inputs = read_inputs(options);
  if (!inputs) return cli::failed(inputs.error().message);
  const auto config = config::load(schema(), *inputs);
  if (!config) return cli::failed(config.error().text());
  const auto settings = (*config)->get(storage::storage_section());
  const auto log_config = (*config)->get(log_section());
  const auto runtime_config = (*config)->get(runtime_section());

  platform::posix::PosixHost machine(
      {.cores = core_count(*runtime_config), .pin = runtime_config->pin});
  const platform::Host host = machine.host();
  const auto prepared = prepare_keys(options, **config, host);
  if (!prepared) return cli::failed(prepared.error().message);

  observe::LogHub logs({.level = log_config->level,
                        .format = log_config->format,
                        .unix_ms = [&host] { return host.clock.unix_ms(); }});
  const LogWriter writer(logs);
  observe::LogHub access({.unix_ms = [&host] { return host.clock.unix_ms(); }});
  apply_access(access, log_config->access);
  const LogWriter access_writer(access);
  std::optional<std::uint64_t> told_rate;
  if (prepared->is_first) told_rate = settings->server.max_rps;
  std::optional<storage::Service> service;
  std::optional<Process> process;
  FirstJob first([&] {
    service.emplace(host, *config, prepared->keyring, logs, storage::add_routes,
                    DataDirectory{options.data_dir}.volumes(*settings), &access);
    process.emplace(options, told_rate, machine, logs, access, *service);
    process->begin();
  });
  machine.run(first);
  const int code = process->exit_code();
  process.reset();
  service.reset();
  return code;
}

}  // namespace ron::app
