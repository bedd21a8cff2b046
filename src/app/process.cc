#include "app/process.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include "app/introduce.h"
#include "app/keys.h"
#include "cli/exit.h"
#include "config/reload.h"
#include "observe/log.h"
#include "platform/posix/files.h"
#include "platform/posix/host.h"
#include "platform/posix/net.h"
#include "runtime/metric_names.h"
#include "services/kit/life.h"

namespace ron::app {
namespace {

using base::fail;
using platform::Signal;
using platform::Task;

using platform::posix::RunningJob;

constexpr std::size_t kConfigFileBytes = base::kMiB;
// What jobs of the blocking pool get beyond what is left of the drain deadline: one that looks at
// its stop token ends in much less.
constexpr base::Duration kJobGrace = std::chrono::seconds(1);
// Jobs that end within that are not worth a line in the log.
constexpr base::Duration kQuietJobs = std::chrono::milliseconds(50);
static_assert(kQuietJobs < kJobGrace);

// `read_site_tree 11.2s, map_get 1.0s`
std::string print(const std::vector<RunningJob>& jobs) {
  std::string text;
  for (const RunningJob& job : jobs) {
    if (!text.empty()) text += ", ";
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(job.took);
    text += std::string(job.name) + ' ' + base::print(took);
  }
  return text;
}

runtime::Meters::Levels overdue(const std::vector<RunningJob>& jobs) {
  std::map<std::string, std::int64_t> counts;
  for (const RunningJob& job : jobs) {
    if (job.is_overdue()) ++counts[std::string(job.name)];
  }
  return {counts.begin(), counts.end()};
}

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
  if (is_amnesiac(options.services, config)) return *auth;
  return DataDirectory{options.data_dir}.auth(*auth);
}

struct Prepared {
  std::shared_ptr<const auth::Keyring> keyring;
  bool is_first = true;  // start of this store; in memory each one is
  bool has_replaced_token = false;
};

// What a start needs of the disk. Nothing is touched in amnesia mode but what was asked for.
base::Result<Prepared> prepare_keys(const ServeOptions& options, const config::Config& config,
                                    const platform::Host& host) {
  const std::int64_t now = host.clock.unix_ms() / 1000;
  const DataDirectory directory{options.data_dir};
  const bool amnesiac = is_amnesiac(options.services, config);
  Prepared out;
  if (!amnesiac) {
    const auto prepared = prepare(directory, *config.get(kit::auth_section()), host.random, now);
    if (!prepared) return fail(prepared.error().code, "--data: " + prepared.error().message);
    out.is_first = *prepared;
  }
  auto keyring = load_keyring(effective_auth(options, config), host.random, now);
  if (!keyring) return fail(keyring.error());
  if (!amnesiac) {
    const auto kept = keep_admin_token(directory, **keyring, host.random, now);
    if (!kept) return fail(kept.error().code, "--data: " + kept.error().message);
    out.has_replaced_token = *kept;
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

// Before anything is made on disk, so that a start which cannot listen leaves nothing behind.
base::Result<void> check_listeners(const kit::ServiceKind& kind, const config::Config& config) {
  const auto settings = kind.settings(config);
  const std::string section(kind.name);
  for (const auto& [name, address] :
       {std::pair("bind", &settings->bind), std::pair("admin", &settings->admin)}) {
    const std::string key = section + "." + name;
    const auto endpoint = platform::Endpoint::parse(config::print(*address));
    if (!endpoint) return fail(endpoint.error().code, key + ": " + endpoint.error().message);
    const auto free = platform::posix::check_port(*endpoint);
    if (free) continue;
    return fail(free.error().code, key + ": " + free.error().message +
                                       "; stop what listens there, or set another address with --" +
                                       name);
  }
  return {};
}

// In the order of the selection. On cores[0].
Services make_services(const ServeOptions& options, const kit::ServiceParts& parts) {
  Services made;
  for (const ServiceEntry* entry : options.services) {
    kit::ServiceParts own = parts;
    own.listens = entry->kind == &front(options.services);
    made.push_back(
        entry->kind->make(std::move(own), DataDirectory{options.data_dir}.of(entry->kind->name)));
  }
  introduce(made);
  for (std::size_t i = 0; i + 1 < made.size(); ++i) made.back()->show(*made[i]);
  return made;
}

std::vector<kit::Service*> pointers_to(const Services& services) {
  std::vector<kit::Service*> out;
  for (const auto& service : services) out.push_back(service.get());
  return out;
}

// What the process says and decides around the life of its services.
class Process {
 public:
  // `is_first`: nothing was started on this data before.
  Process(const ServeOptions& options, bool is_first, platform::posix::PosixHost& machine,
          observe::LogHub& logs, observe::LogHub& access, const Services& services)
      : options_(options),
        schema_(schema_of(options.services)),
        is_first_(is_first),
        machine_(machine),
        logs_(logs),
        access_(access),
        kind_(front(options.services)),
        front_(*services.back()),
        host_(machine.host()),
        meters_(front_.meters(), "process"),
        overdue_jobs_(front_.meters().gauge_levels_fn(
            runtime::metrics::kBlockingJobsOverdue,
            [&machine] { return overdue(machine.running_jobs()); })),
        life_(host_.signals, pointers_to(services), hooks()) {}

  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

  // Starts the life's task; runs as the machine's first job.
  void begin() {
    tasks_.emplace(meters_);
    tasks_->spawn(live());
  }

  // Once the machine has stopped: waits for jobs of the blocking pool, for what is left of the
  // drain deadline and kJobGrace. False when there are some that do not end: nothing may be
  // destroyed that they use, and the process ends by std::_Exit. What was acknowledged is durable.
  [[nodiscard]] bool join_jobs() {
    std::vector<RunningJob> left = machine_.close_blocking(kQuietJobs);
    if (left.empty()) return true;
    const base::Duration patience =
        kJobGrace + std::max(base::Duration::zero(), drain_ends_ - host_.clock.monotonic());
    front_.log().warn("waiting for blocking jobs",
                      {{"jobs", print(left)}, {"at_most", base::print(patience)}});
    left = machine_.close_blocking(patience);
    if (left.empty()) return true;
    for (const RunningJob& job : left) {
      front_.meters().counter(runtime::metrics::kBlockingJobsLeftTotal, {job.name}).add();
    }
    front_.log().error("blocking jobs do not end: the process ends without them",
                       {{"jobs", print(left)}, {"exit_code", cli::kExitFailed}});
    return false;
  }

 private:
  Task<void> live() {
    const base::Result<> lived = co_await life_.run();
    if (!lived) exit_code_ = cli::failed(lived.error().message);
    if (life_.gave_up()) exit_code_ = cli::kExitFailed;
    machine_.stop();
  }

  kit::LifeHooks hooks() {
    return {.next = [this] { return next(); },
            .on_listening = [this](kit::Service& service,
                                   const kit::Endpoints& at) { announce(service, at); },
            .on_reload = [this](const config::ReloadRefused* why) { reloaded(why); },
            .on_stop = [this] { drain_ends_ = host_.clock.monotonic() + longest_drain(); },
            .on_abort =
                [this] {
                  drain_ends_ = {};
                  front_.log().warn("second stop signal: aborting");
                }};
  }

  [[nodiscard]] base::Duration longest_drain() const {
    const auto config = front_.config();
    base::Duration longest{};
    for (const ServiceEntry* entry : options_.services) {
      longest = std::max(longest, entry->kind->settings(*config)->drain_deadline);
    }
    return longest;
  }

  // What a service would listen with has no effect behind another one: whoever set it is told.
  void warn_of_idle_keys() const {
    constexpr std::array<std::string_view, 9> kKeys = {
        "bind",         "admin",          "uds.path",  "uds.allow_uids",  "tls.cert_path",
        "tls.key_path", "server.max_rps", "max_conns", "max_conns_per_ip"};
    const auto config = front_.config();
    for (const ServiceEntry* entry : options_.services) {
      if (entry->kind == &kind_) continue;
      for (const std::string_view key : kKeys) {
        const config::Entry* const found =
            config->find(std::string(entry->kind->name) + "." + std::string(key));
        if (found == nullptr || found->source.layer == config::Layer::Default) continue;
        front_.log().warn("this key has no effect here: " + std::string(front_.name()) +
                              " is in front and listens",
                          {{"key", found->key}, {"source", found->source.text()}});
      }
    }
  }

  // Each listener that came up is said once; scripts read the clients' one from standard output.
  void announce(kit::Service& service, const kit::Endpoints& endpoints) {
    const observe::Log log = service.log();
    const bool plain = service.credentials().tls == nullptr;
    for (const auto& [key, at, before] : {std::tuple("bind", endpoints.bind, announced_.bind),
                                          std::tuple("admin", endpoints.admin, announced_.admin)}) {
      if (at != before && at.is_wildcard() && plain) warn_of_everyone(log, key, at);
    }
    if (endpoints.bind != announced_.bind) {
      std::printf("%.*s listening on %s\n", static_cast<int>(service.name().size()),
                  service.name().data(), endpoints.bind.text().c_str());
      std::fflush(stdout);
      log.info("listening", {{"addr", endpoints.bind.text()}, {"tls", !plain}});
    }
    if (endpoints.admin != announced_.admin) {
      log.info("admin listening", {{"addr", endpoints.admin.text()}});
    }
    if (endpoints.uds && endpoints.uds != announced_.uds) {
      log.info("listening", {{"addr", endpoints.uds->text()}});
    }
    announced_ = endpoints;
    if (!std::exchange(warned_, true)) warn_of_idle_keys();
    if (!std::exchange(is_first_, false)) return;
    // The one default that surprises: the others are found by `ron config show`.
    const std::string key = std::string(kind_.name) + "." + std::string(kind_.rate_key);
    log.info(
        "first start: requests beyond this many per second are told to wait; " + key + " raises it",
        {{"max_rps", service.config()->find(key)->value.as<std::uint64_t>()}});
  }

  // Requests and tokens are readable on the way, and whoever reaches the machine reaches this.
  void warn_of_everyone(const observe::Log& log, const char* key,
                        const platform::Endpoint& at) const {
    log.warn("listening on all addresses without TLS: tokens can be read on the way",
             {{"key", std::string(kind_.name) + "." + key}, {"addr", at.text()}});
  }

  std::expected<kit::NextSetup, config::ReloadRefused> next() {
    using config::ReloadFail;
    using config::ReloadRefused;
    const auto inputs = read_inputs(options_);
    if (!inputs) return std::unexpected(ReloadRefused{ReloadFail::Io, inputs.error().message});
    auto next = config::reload(schema_, *front_.config(), *inputs);
    if (!next) return std::unexpected(std::move(next.error()));
    const kit::AuthConfig auth = effective_auth(options_, *next->config);
    const kit::Credentials now = front_.credentials();
    const auto keyring = auth.keys_dir.empty()
                             ? with_deny_list(*now.keyring, auth)
                             : load_keyring(auth, host_.random, host_.clock.unix_ms() / 1000);
    if (!keyring) {
      return std::unexpected(ReloadRefused{ReloadFail::Invalid, keyring.error().message});
    }
    const auto tls = load_tls(kind_.settings(*next->config)->tls, now.tls.get());
    if (!tls) return std::unexpected(ReloadRefused{ReloadFail::Invalid, tls.error().message});
    return kit::NextSetup{std::move(*next), {*keyring, *tls}};
  }

  void reloaded(const config::ReloadRefused* why) {
    const observe::Log log = front_.log();
    if (why != nullptr) {
      log.error("reload refused, the old configuration stays",
                {{"reason", config::reason(why->fail)}, {"what", why->message}});
      return;
    }
    const auto log_config = front_.config()->get(log_section());
    logs_.set_level(log_config->level);
    apply_access(access_, log_config->access);
    log.info("configuration reloaded");
  }

  const ServeOptions& options_;
  const config::Schema schema_;
  bool is_first_;
  platform::posix::PosixHost& machine_;
  observe::LogHub& logs_;
  observe::LogHub& access_;
  const kit::ServiceKind& kind_;  // of the one in front
  kit::Service& front_;
  platform::Host host_;
  int exit_code_ = cli::kExitClean;
  bool warned_ = false;
  kit::Endpoints announced_;
  runtime::TaskMeters meters_;
  platform::TimePoint drain_ends_{};
  runtime::GaugeRegistration overdue_jobs_;
  kit::Life life_;
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
  inputs.defaults = options.defaults;
  inputs.environment = platform::posix::environment();
  if (!options.config_file.empty()) {
    auto text = platform::posix::read_small_file(options.config_file, kConfigFileBytes);
    if (!text) return fail(text.error().code, options.config_file + ": " + text.error().message);
    inputs.file_text = std::move(*text);
  }
  return inputs;
}

int serve(const ServeOptions& options) {
  const auto inputs = read_inputs(options);
  if (!inputs) return cli::failed(inputs.error().message);
  const auto config = config::load(schema_of(options.services), *inputs);
  if (!config) return cli::failed(config.error().text());
  const auto log_config = (*config)->get(log_section());
  const auto runtime_config = (*config)->get(runtime_section());
  const kit::ServiceKind& kind = front(options.services);
  const auto tls = load_tls(kind.settings(**config)->tls, nullptr);
  if (!tls) return cli::failed(std::string(kind.name) + ".tls: " + tls.error().message);
  const auto trust = load_trust(options.services, **config);
  if (!trust) return cli::failed(trust.error().message);
  const auto free = check_listeners(kind, **config);
  if (!free) return cli::failed(free.error().message);

  platform::posix::PosixHost machine(
      {.cores = core_count(*runtime_config), .pin = runtime_config->pin});
  const platform::Host host = machine.host();
  const auto prepared = prepare_keys(options, **config, host);
  if (!prepared) return cli::failed(prepared.error().message);

  observe::LogHub logs({.level = log_config->level,
                        .format = log_config->format,
                        .unix_ms = [&host] { return host.clock.unix_ms(); }});
  std::optional<LogWriter> writer(std::in_place, logs);
  observe::LogHub access({.unix_ms = [&host] { return host.clock.unix_ms(); }});
  apply_access(access, log_config->access);
  std::optional<LogWriter> access_writer(std::in_place, access);
  Services services;
  std::optional<Process> process;
  FirstJob first([&] {
    services = make_services(options, {.host = host,
                                       .config = *config,
                                       .credentials = {prepared->keyring, *tls, *trust},
                                       .logs = &logs,
                                       .access = &access});
    process.emplace(options, prepared->is_first, machine, logs, access, services);
    if (prepared->has_replaced_token) {
      services.back()->log().info(
          "the admin token was replaced: the one before was not for any tenant, or not of these "
          "keys",
          {{"path", DataDirectory{options.data_dir}.admin_token()}});
    }
    process->begin();
  });
  machine.run(first);
  if (!process->join_jobs()) {
    access_writer.reset();
    writer.reset();
    std::_Exit(cli::kExitFailed);
  }
  const int code = process->exit_code();
  process.reset();
  while (!services.empty()) services.pop_back();  // the one in front shows the others
  return code;
}

}  // namespace ron::app
