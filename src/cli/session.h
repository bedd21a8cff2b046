// Session: one client command at work: a loop of its own, the requests it makes, and what it shows.
//
//   return run_session("put", options, [&](Session& session) { return put(&session, &what); });
//
// Everything happens on the calling thread; file work runs on the blocking pool. A signal to stop
// ends the process at once, with exit code 130: whatever may be continued later is on disk.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/object_id.h"
#include "cli/client_options.h"
#include "cli/exit.h"
#include "cli/object_client.h"
#include "cli/progress.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/task_group.h"

namespace ron::cli {

// Files, pipes and people take as long as they take; whoever waits for a command ends it.
inline constexpr platform::BlockingKind kCommandWork{"command", platform::kCallersBudget};

class Session {
 public:
  Session(std::string command, const ClientOptions& options, platform::Host host,
          runtime::Meters& meters, http::Client& client);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const ClientOptions& options() const noexcept { return options_; }
  [[nodiscard]] platform::Host& host() noexcept { return host_; }
  [[nodiscard]] ObjectClient& objects() noexcept { return objects_; }
  [[nodiscard]] ObjectClient& admin() noexcept { return admin_; }
  [[nodiscard]] Progress& progress() noexcept { return progress_; }
  [[nodiscard]] runtime::TaskMeters& tasks() noexcept { return tasks_; }

  // A result, on standard output. False, after a complaint, when it cannot be written.
  bool print(std::string_view text);
  // `ron put: FILE: what`, on standard error; the command goes on and will have failed.
  void complain(std::string_view about, std::string_view what);
  // The same of an error.
  void complain(std::string_view about, const base::Error& error);
  // No answer has ever come from the server: no other request has to be tried.
  [[nodiscard]] bool is_unreachable(const base::Error& error) const noexcept {
    return error.code == base::Code::UpstreamFail && !server_.answered();
  }
  // The same of a request to the admin listener, which may be somewhere else.
  void complain_of_admin(std::string_view about, const base::Error& error);
  // For information only; not shown when quiet.
  void note(std::string_view about, std::string_view what);
  // 0, or 1 after a complaint; 141 once nobody reads the output any more, as a shell shows it.
  [[nodiscard]] int exit_code() const noexcept {
    return unread_ ? kExitUnread : complained_ ? kExitFailed : kExitClean;
  }
  // Nobody reads the output any more. Nothing is complained of from now on: whoever closed it
  // knows.
  void unread() noexcept { unread_ = true; }
  // What is under way is on disk: when a signal ends the command, it says that the same command
  // will continue.
  void resumes() noexcept { resumes_ = true; }

  // Draws the progress until it is aborted, if there is a terminal to draw on.
  platform::Task<void> draw();
  void wipe() noexcept;
  // A signal ends the command.
  void interrupted();

  // Runs `work` on the blocking pool; `work` returns a Result. Busy if the pool is stuck.
  template <class Work>
  platform::Task<platform::detail::JobResult<Work>> off_loop(Work work) {
    auto done = co_await host_.blocking.run(kCommandWork, std::move(work));
    if (!done) co_return base::fail(std::move(done.error()));
    co_return std::move(*done);
  }

 private:
  // What may help when the server could not be reached: `; …`, or nothing.
  [[nodiscard]] std::string hint(const base::Error& error) const;
  [[nodiscard]] std::string describe_to_user(const base::Error& error) const;
  void say(std::string_view about, std::string_view what);

  const std::string command_;
  const ClientOptions& options_;
  platform::Host host_;
  Server server_;
  Server admin_server_;
  ObjectClient objects_;
  ObjectClient admin_;
  Progress progress_;
  runtime::TaskMeters tasks_;
  bool drawn_ = false;
  bool complained_ = false;
  bool unread_ = false;
  bool resumes_ = false;
};

using Work = std::move_only_function<platform::Task<int>(Session&)>;

// Runs the work to its end; its exit code. Blocks.
int run_session(const std::string& command, const ClientOptions& options, Work work);

}  // namespace ron::cli
