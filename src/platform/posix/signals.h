// SIGTERM and SIGINT as Terminate, SIGHUP as Reload, through a signalfd on the supervisor's loop.
#pragma once

#include "platform/posix/loop.h"
#include "platform/signals.h"

namespace ron::platform::posix {

class SystemSignals final : public Signals, private IoSource {
 public:
  // Blocks the signals in the calling thread: call before any other thread is started.
  SystemSignals();
  ~SystemSignals() override;

  // On the loop's thread.
  void attach(Loop& loop);
  Signal take() noexcept override;

 private:
  static void on_events(IoSource& source, std::uint32_t events) noexcept;

  int descriptor_ = -1;
};

}  // namespace ron::platform::posix
