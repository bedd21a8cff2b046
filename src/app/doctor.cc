#include "app/doctor.h"

#include <algorithm>
#include <utility>

#include "app/doctor_memory.h"
#include "platform/posix/host.h"

namespace ron::app {
namespace {

using Level = Finding::Level;

// Opens the listeners the way a start does; jobs run on the machine's first core.
class PortCheck : public platform::Job {
 public:
  PortCheck(const kit::ServiceKind& kind, const config::Config& config,
            platform::posix::PosixHost& machine, Findings& out)
      : Job(&PortCheck::go),
        section_(kind.name),
        settings_(kind.settings(config)),
        machine_(machine),
        out_(out) {}

 private:
  static void go(Job& job) noexcept {
    auto& check = static_cast<PortCheck&>(job);
    check.look(check.section_ + ".bind", check.settings_->bind);
    check.look(check.section_ + ".admin", check.settings_->admin);
    check.machine_.stop();
  }
  void look(const std::string& key, const config::Address& address) {
    const auto endpoint = platform::Endpoint::parse(config::print(address));
    if (!endpoint) {
      out_.push_back({Level::Fail, "port", key + ": " + endpoint.error().message, "set " + key});
      return;
    }
    const auto listener = machine_.host().net.listen(*endpoint);
    if (listener && endpoint->is_wildcard() && !settings_->tls.enabled()) {
      out_.push_back({Level::Warn, "port",
                      key + ": " + endpoint->text() + " is free, and open to every network",
                      "there is no TLS: tokens can be read on the way"});
    } else if (listener) {
      out_.push_back({Level::Ok, "port", key + ": " + endpoint->text() + " is free"});
    } else {
      out_.push_back({Level::Fail, "port", key + ": " + listener.error().message,
                      "stop what listens there, or set " + key});
    }
  }

  const std::string section_;
  const std::shared_ptr<const kit::ServiceConfig> settings_;
  platform::posix::PosixHost& machine_;
  Findings& out_;
};

void look_at_machine(const kit::ServiceKind& front, const config::Config& config, Findings& out) {
  platform::posix::PosixHost machine;
  PortCheck ports(front, config, machine, out);
  machine.run(ports);
  if (machine.disk().engine() == platform::posix::DiskEngine::Uring) {
    out.push_back({Level::Ok, "disk", "io_uring is available"});
  } else {
    out.push_back({Level::Warn, "disk", "io_uring is refused; files go through threads instead",
                   "allow io_uring in the sandbox or in kernel.io_uring_disabled"});
  }
}

std::string_view name(Level level) {
  switch (level) {
    case Level::Ok:
      return "ok  ";
    case Level::Warn:
      return "warn";
    case Level::Fail:
      return "fail";
  }
  return "";
}

}  // namespace

Findings judge(const Selection& services, const config::Config& config,
               const platform::posix::Machine& machine, std::size_t cores) {
  Findings out;
  if (machine.huge_pages) {
    out.push_back({Level::Ok, "huge pages", "memory can be collapsed into huge pages"});
  } else {
    out.push_back({Level::Warn, "huge pages", "not on demand here; large objects cost more CPU",
                   "Linux 6.1 or later with transparent huge pages offers them"});
  }
  for (const ServiceEntry* entry : services) entry->judge(config, machine, cores, out);
  judge_memory(process_budget(services, config, cores), machine.memory_bytes, out);
  return out;
}

Findings examine(const ServeOptions& options) {
  Findings out;
  const auto inputs = read_inputs(options);
  if (!inputs) return {{Level::Fail, "config", inputs.error().message, "name a readable file"}};
  const auto config = config::load(schema_of(options.services), *inputs);
  if (!config) {
    for (const config::Problem& problem : config.error().list()) {
      out.push_back({Level::Fail, "config", problem.text()});
    }
    return out;
  }
  out.push_back({Level::Ok, "config", std::to_string((*config)->entries().size()) + " keys"});
  const std::int64_t now = platform::posix::SystemClock().unix_ms() / 1000;
  Findings found = examine_files(options, **config, now);
  std::ranges::move(found, std::back_inserter(out));
  look_at_machine(front(options.services), **config, out);
  Findings judged = judge(options.services, **config, platform::posix::probe_machine(),
                          core_count(*(*config)->get(runtime_section())));
  std::ranges::move(judged, std::back_inserter(out));
  return out;
}

std::string print(const Findings& findings, Details details) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.topic.size());
  std::string out;
  for (const Finding& finding : findings) {
    if (finding.is_detail && details == Details::Hide) continue;
    std::string topic = finding.topic;
    topic.resize(width, ' ');
    out += std::string(name(finding.level)) + "  " + topic + "  " + finding.text;
    if (!finding.advice.empty()) out += "; " + finding.advice;
    out += "\n";
  }
  return out;
}

bool has_failure(const Findings& findings) noexcept {
  return std::ranges::any_of(findings,
                             [](const Finding& finding) { return finding.level == Level::Fail; });
}

}  // namespace ron::app
