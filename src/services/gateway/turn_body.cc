#include "services/gateway/turn_body.h"

#include <utility>
#include <variant>

namespace ron::gateway {

using platform::Task;

TurnBody::TurnBody(std::unique_ptr<http::BodySource> inner, Turn turn)
    : Timer(&TurnBody::fired),
      inner_(std::move(inner)),
      turn_(std::move(turn)),
      home_(*platform::Executor::current()) {}

TurnBody::~TurnBody() {
  if (armed()) home_.disarm(*this);
}

Task<base::Result<base::ByteView>> TurnBody::next() {
  if (handed_out_at_ != platform::kNever) {
    patience_.note(home_.now() - std::exchange(handed_out_at_, platform::kNever),
                   handed_out_bytes_);
  }
  auto piece = co_await inner_->next();
  if (!piece || piece->empty()) {
    turn_ = {};
    co_return piece;
  }
  turn_.add_bytes(piece->size());
  handed_out_at_ = home_.now();
  handed_out_bytes_ = piece->size();
  // One timer for all pieces: it looks when it fires.
  if (turn_.has_slot() && !armed()) home_.arm(*this, handed_out_at_ + patience_.left());
  co_return piece;
}

void TurnBody::fired(platform::Timer& timer) noexcept {
  static_cast<TurnBody&>(timer).look_at_reader();
}

void TurnBody::look_at_reader() noexcept {
  // It waits for the upstream: the next piece sets the timer.
  if (handed_out_at_ == platform::kNever) return;
  if (home_.now() - handed_out_at_ >= patience_.left()) {
    turn_.give_slot_back();
  } else {
    home_.arm(*this, handed_out_at_ + patience_.left());
  }
}

void hold_turn(http::Response& response, Turn turn) {
  turn.served();
  std::unique_ptr<http::BodySource>* source = nullptr;
  if (auto* sized = std::get_if<http::SizedBody>(&response.body)) source = &sized->source;
  if (auto* streamed = std::get_if<http::StreamedBody>(&response.body)) source = &streamed->source;
  const std::optional<std::uint64_t> length = response.content_length();
  // Nobody waits for the slot, and what it will cost is known.
  const bool is_known = length && !turn.has_slot();
  if (source == nullptr || *source == nullptr || is_known) {
    turn.add_bytes(length.value_or(0));
    return;
  }
  *source = std::make_unique<TurnBody>(std::move(*source), std::move(turn));
}

}  // namespace ron::gateway
