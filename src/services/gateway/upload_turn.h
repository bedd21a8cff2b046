// The turn of a request whose body is still on its way.
#pragma once

#include "http/body.h"
#include "http/body_source.h"
#include "platform/executor.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "services/gateway/client_patience.h"
#include "services/gateway/fair_queue.h"

namespace ron::gateway {

// A slot is for what an upstream works on, and not for what a client has yet to send: while the
// client is waited for, others have the slot, and the request comes back for one, in line, when
// there is something to send. The turn itself stays, and is charged for its bytes and its time.
//
// A service of the process reads a body as a whole: the slot goes at once, unless all of the body
// is there already. A server is sent the body piece by piece: the slot goes when the client has
// used up its patience (client_patience.h).
//
// On the connection's core. The turn and the body outlive it; the body forgets it when it goes.
class UploadTurn final : public http::BodyWatch, public http::BodySource, private platform::Timer {
 public:
  UploadTurn(FairQueue& queue, Turn& turn, http::BodyReader& body, runtime::Deadline deadline);
  ~UploadTurn() override;

  // BodyWatch, for readers of the whole body.
  void wait_begins() noexcept override;
  // Errors as of FairQueue::take(). Cancel-safe.
  platform::Task<base::Result<>> wait_ends() override;

  // BodySource: the body as it comes from the client. The errors of both. Cancel-safe.
  platform::Task<base::Result<base::ByteView>> next() override;

 private:
  static void fired(platform::Timer& timer) noexcept;
  void look_at_client() noexcept;
  void lose_slot() noexcept;

  FairQueue& queue_;
  Turn& turn_;
  http::BodyReader& body_;
  const runtime::Deadline deadline_;
  platform::Executor& home_;
  ClientPatience patience_;
  platform::TimePoint waits_since_ = platform::kNever;  // never: the client is not waited for
  bool has_lost_slot_ = false;
};

}  // namespace ron::gateway
