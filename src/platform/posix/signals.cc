#include "platform/posix/signals.h"

#include <cerrno>
#include <csignal>
#include <system_error>

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace ron::platform::posix {

SystemSignals::SystemSignals() : IoSource(&SystemSignals::on_events) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

SystemSignals::~SystemSignals() { close(descriptor_); }

void SystemSignals::attach(Loop& loop) {
  const int error = loop.add(descriptor_, *this);
  if (error != 0) throw std::system_error(error, std::generic_category(), "signalfd");
}

Signal SystemSignals::take() noexcept {
  signalfd_siginfo info{};
  if (read(descriptor_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    arrived_.clear();
    return Signal::None;
  }
  return info.ssi_signo == SIGHUP ? Signal::Reload : Signal::Terminate;
}

void SystemSignals::on_events(IoSource& source, std::uint32_t) noexcept {
  static_cast<SystemSignals&>(source).arrived_.set();
}

}  // namespace ron::platform::posix
