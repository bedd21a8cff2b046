#include "services/gateway/upload_turn.h"

#include <utility>

namespace ron::gateway {

using platform::kNever;
using platform::Task;

UploadTurn::UploadTurn(FairQueue& queue, Turn& turn, http::BodyReader& body,
                       runtime::Deadline deadline)
    : Timer(&UploadTurn::fired),
      queue_(queue),
      turn_(turn),
      body_(body),
      deadline_(deadline),
      home_(*platform::Executor::current()) {
  body_.set_watch(this);
}

UploadTurn::~UploadTurn() {
  body_.set_watch(nullptr);
  if (armed()) home_.disarm(*this);
}

void UploadTurn::lose_slot() noexcept {
  if (!turn_.has_slot()) return;
  turn_.give_slot_back();
  has_lost_slot_ = true;
}

void UploadTurn::wait_begins() noexcept { lose_slot(); }

Task<base::Result<>> UploadTurn::wait_ends() {
  if (!has_lost_slot_) co_return base::Result<>();
  const base::Result<> taken = co_await queue_.take_again(&turn_, deadline_);
  if (taken) has_lost_slot_ = false;
  co_return taken;
}

Task<base::Result<base::ByteView>> UploadTurn::next() {
  waits_since_ = home_.now();
  // One timer for all pieces: it looks when it fires, which is never later than it should.
  if (turn_.has_slot() && !armed()) home_.arm(*this, waits_since_ + patience_.left());
  const auto piece = co_await body_.next_raw();
  const base::Duration waited = home_.now() - std::exchange(waits_since_, kNever);
  if (!piece) co_return piece;
  patience_.note(waited, piece->size());
  const base::Result<> taken = co_await wait_ends();
  if (!taken) co_return base::fail(taken.error());
  co_return piece;
}

void UploadTurn::fired(platform::Timer& timer) noexcept {
  static_cast<UploadTurn&>(timer).look_at_client();
}

void UploadTurn::look_at_client() noexcept {
  if (waits_since_ == kNever) return;
  if (home_.now() - waits_since_ >= patience_.left()) {
    lose_slot();
  } else {
    home_.arm(*this, waits_since_ + patience_.left());
  }
}

}  // namespace ron::gateway
