// A turn lasts until the last byte of its answer has come from the upstream, and not until a slow
// reader has taken it.
#pragma once

#include <cstdint>
#include <memory>

#include "http/body_source.h"
#include "http/response.h"
#include "platform/executor.h"
#include "platform/task.h"
#include "services/gateway/client_patience.h"
#include "services/gateway/fair_queue.h"

namespace ron::gateway {

// A body that is still on its way, with the turn it takes. A reader that has used up its patience
// (client_patience.h) loses the slot, for which others wait, but not the answer: what is yet to
// come of that is charged, and comes without a slot, at the reader's pace. Lives on the
// connection's core.
class TurnBody final : public http::BodySource, private platform::Timer {
 public:
  TurnBody(std::unique_ptr<http::BodySource> inner, Turn turn);
  ~TurnBody() override;

  // Cancel-safe if the inner one is.
  platform::Task<base::Result<base::ByteView>> next() override;

 private:
  static void fired(platform::Timer& timer) noexcept;
  void look_at_reader() noexcept;

  std::unique_ptr<http::BodySource> inner_;
  Turn turn_;
  platform::Executor& home_;
  ClientPatience patience_;
  std::uint64_t handed_out_bytes_ = 0;
  platform::TimePoint handed_out_at_ = platform::kNever;  // never: it waits for the upstream
};

// The upstream has answered. What is in memory is charged and done with; a body that comes in
// pieces keeps the turn.
void hold_turn(http::Response& response, Turn turn);

}  // namespace ron::gateway
