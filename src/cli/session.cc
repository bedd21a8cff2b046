#include "cli/session.h"

#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "cli/exit.h"
#include "http/client.h"
#include "platform/posix/host.h"
#include "platform/posix/local_files.h"
#include "platform/tls_details.h"
#include "runtime/root_task.h"

namespace ron::cli {
namespace {

constexpr base::Duration kCloseTime = std::chrono::seconds(1);
constexpr base::Duration kJobGrace = std::chrono::seconds(2);

http::ClientSettings settings_of(const ClientOptions& options, const platform::Clock& clock) {
  http::ClientSettings settings;
  settings.tls = options.tls;
  settings.clock = &clock;
  settings.max_connections = options.jobs;
  settings.max_idle = options.jobs;
  settings.max_waiting = 4096;
  settings.connect_timeout = std::chrono::seconds(5);
  settings.write_timeout = std::chrono::seconds(30);
  return settings;
}

// Lives on core 0 of its machine, from its first job to the machine's stop.
class Runner : private platform::Job {
 public:
  Runner(platform::posix::PosixHost& machine, const std::string& command,
         const ClientOptions& options, Work work)
      : Job(&Runner::begin),
        machine_(machine),
        client_(machine.host().net, settings_of(options, machine.host().clock), meters_),
        session_(command, options, machine.host(), meters_, client_),
        work_(std::move(work)),
        watchers_(session_.tasks()) {}

  int run() {
    machine_.run(*this);
    root_.reset();
    if (failure_) std::rethrow_exception(failure_);
    return exit_code_;
  }

 private:
  struct Root : runtime::RootTask {
    using RootTask::RootTask;
    Runner* owner = nullptr;
  };

  static void begin(Job& job) noexcept {
    auto& self = static_cast<Runner&>(job);
    self.root_.emplace(self.run_all(),
                       [](runtime::RootTask& root, std::exception_ptr failure) noexcept {
                         Runner& runner = *static_cast<Root&>(root).owner;
                         runner.failure_ = std::move(failure);
                         runner.watchers_.abort_all();
                         runner.machine_.stop();
                       });
    self.root_->owner = &self;
  }

  platform::Task<void> run_all() {
    watchers_.spawn(watch_signals());
    watchers_.spawn(session_.draw());
    exit_code_ = co_await work_(session_);
    session_.wipe();
    co_await client_.close(runtime::Deadline::in(kCloseTime));
  }

  // Work on the pool may wait for standard input, so nothing here can be waited for.
  platform::Task<void> watch_signals() {
    platform::Signals& signals = machine_.host().signals;
    for (;;) {
      co_await signals.arrived().wait();
      const platform::Signal signal = signals.take();
      if (signal == platform::Signal::None) continue;
      session_.interrupted();
      std::_Exit(kExitInterrupted);
    }
  }

  platform::posix::PosixHost& machine_;
  runtime::Meters meters_{"cli"};
  http::Client client_;
  Session session_;
  Work work_;
  int exit_code_ = kExitFailed;
  std::exception_ptr failure_;
  std::optional<Root> root_;
  runtime::TaskGroup watchers_;
};

}  // namespace

Session::Session(std::string command, const ClientOptions& options, platform::Host host,
                 runtime::Meters& meters, http::Client& client)
    : command_(std::move(command)),
      options_(options),
      host_(host),
      server_(client, host.resolver, options.server),
      admin_server_(client, host.resolver, options.admin.value_or(options.server)),
      objects_(server_, options.token, meters, host.random),
      admin_(admin_server_, options.token, meters, host.random),
      progress_(command_),
      tasks_(meters, "transfer") {}

bool Session::print(std::string_view text) {
  if (text.empty()) return true;
  wipe();
  const auto written = platform::posix::write_stream(platform::posix::kStandardOutput,
                                                     base::as_bytes(text), "standard output");
  if (written) return true;
  if (written.error().code == base::Code::Canceled) unread();
  complain("", written.error());
  return false;
}

void Session::say(std::string_view about, std::string_view what) {
  wipe();
  std::string line = "ron " + command_ + ": ";
  if (!about.empty()) line += std::string(about) + ": ";
  platform::posix::write_standard_error(line + std::string(what) + "\n");
}

void Session::complain(std::string_view about, std::string_view what) {
  complained_ = true;
  say(about, what);
}

void Session::complain(std::string_view about, const base::Error& error) {
  if (unread_) return;
  complain(about, describe_to_user(error) + hint(error));
}

std::string Session::hint(const base::Error& error) const {
  if (!is_unreachable(error)) return "";
  for (const auto& [key, why] : error.details) {
    if (key != platform::kCertificateDetail) continue;
    const bool is_unknown =
        why.contains("self-signed") || why.contains("issuer") || why.contains("first certificate");
    return is_unknown ? "; --ca FILE or RON_CA_FILE names the certificates to trust" : "";
  }
  const bool is_plain = options_.server.scheme == ServerUrl::Scheme::Http;
  if (is_plain && error.message.contains("closed the connection")) {
    return "; if that port speaks TLS, write https:// instead of http://";
  }
  return "; ron up starts a server, --url or RON_URL names one";
}

void Session::complain_of_admin(std::string_view about, const base::Error& error) {
  if (unread_) return;
  std::string what = describe_to_user(error);
  const bool is_away = error.code == base::Code::UpstreamFail && !admin_server_.answered();
  if (is_away || is_no_route(error)) {
    what += "; the admin listener was expected at " + options_.admin->text() +
            ", --admin-url or RON_ADMIN_URL says where it is";
  }
  complain(about, what);
}

std::string Session::describe_to_user(const base::Error& error) const {
  base::Error told = error;
  if (error.code == base::Code::Unauthorized && options_.token.empty()) {
    told.message = "this needs a token: give --token FILE or set RON_TOKEN; " + options_.no_token;
  }
  return describe(told);
}

void Session::interrupted() {
  say("",
      resumes_ ? "interrupted; the same command continues where this one stopped" : "interrupted");
}

void Session::note(std::string_view about, std::string_view what) {
  if (!options_.quiet) say(about, what);
}

platform::Task<void> Session::draw() {
  if (options_.quiet || !platform::posix::error_is_terminal()) co_return;
  progress_.begin(platform::Executor::current()->now());
  for (;;) {
    co_await runtime::sleep_for(Progress::kInterval);
    const auto line =
        progress_.draw(platform::Executor::current()->now(), platform::posix::terminal_columns());
    if (!line) continue;
    platform::posix::write_standard_error("\r" + *line + "\x1b[K");
    drawn_ = true;
  }
}

void Session::wipe() noexcept {
  if (!std::exchange(drawn_, false)) return;
  platform::posix::write_standard_error("\r\x1b[K");
}

int run_session(const std::string& command, const ClientOptions& options, Work work) {
  platform::posix::PosixHost machine({.cores = 1, .blocking_threads = 4});
  const int code = Runner(machine, command, options, std::move(work)).run();
  // What still runs then waits for a pipe or a terminal, and the command has failed already.
  const auto left = machine.close_blocking(kJobGrace);
  if (!left.empty()) std::_Exit(code);
  return code;
}

}  // namespace ron::cli
