#include "services/registry/rendered.h"

#include <memory>
#include <utility>

#include "base/cbor.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"
#include "services/registry/list_bounds.h"

namespace ron::registry {
namespace {

using base::fail;
using base::Result;
using base::Value;
using http::Response;
using platform::Task;

std::string print(const Value& value, bool is_cbor) {
  return is_cbor ? base::encode_cbor(value) : base::print_json(value) + "\n";
}

// Holds the state and one piece.
class StateSource final : public http::BodySource {
 public:
  StateSource(StatePtr state, bool is_cbor)
      : state_(std::move(state)), is_cbor_(is_cbor), next_(state_->descriptors().begin()) {
    // Both kinds of document have their fields in a fixed order: `descriptors` is the first of the
    // JSON, and the last of the CBOR.
    if (is_cbor_) {
      begin_ = print(fields(), true);
      constexpr unsigned char kMapHead = 0xA0;
      begin_.front() = static_cast<char>(kMapHead + fields().map()->size() + 1);
      base::CborWriter(begin_).text("descriptors");
      base::CborWriter(begin_).array(state_->descriptors().size());
    } else {
      begin_ = "{\"descriptors\":[";
      end_ = "]," + print(fields(), false).substr(1);
    }
  }

  Task<Result<base::ByteView>> next() override {
    piece_ = std::exchange(begin_, {});
    const auto end = state_->descriptors().end();
    while (next_ != end && piece_.size() < bounds::kStatePiece) {
      const Value& value = next_->second->value;
      if (is_cbor_) {
        piece_ += base::encode_cbor(value);
      } else {
        if (next_ != state_->descriptors().begin()) piece_ += ',';
        piece_ += base::print_json(value);
      }
      ++next_;
    }
    if (next_ == end) piece_ += std::exchange(end_, {});
    co_return base::as_bytes(piece_);
  }

 private:
  [[nodiscard]] Value fields() const {
    Value::Map map = *state_value(*state_, {}).map();
    map.erase("descriptors");
    return Value(std::move(map));
  }

  StatePtr state_;
  const bool is_cbor_;
  chain::State::Descriptors::const_iterator next_;
  std::string begin_;
  std::string end_;
  std::string piece_;
};

}  // namespace

Task<Result<std::string>> render(platform::BlockingPool* pool, bool is_cbor, std::size_t bytes,
                                 MakeValue make) {
  if (bytes <= bounds::kInlineBytes) co_return print(make(), is_cbor);
  co_return co_await pool->run(
      [is_cbor, make = std::move(make)] { return print(make(), is_cbor); });
}

Task<Response> rendered(platform::BlockingPool* pool, const http::Request* request, int status,
                        std::size_t bytes, MakeValue make) {
  const bool is_cbor = kit::wants_cbor(*request);
  auto text = co_await render(pool, is_cbor, bytes, std::move(make));
  if (!text) co_return kit::refuse(*request, text.error());
  co_return Response::text(status, std::move(*text), kit::content_type(is_cbor));
}

Value state_value(const chain::State& state, Value::Array descriptors) {
  Value::Array signers;
  for (const chain::Signer& signer : state.governance().set.signers) {
    Value::Map one = *chain::to_value(signer).map();
    one.emplace("id", signer.id);
    signers.emplace_back(std::move(one));
  }
  Value::Array revoked;
  for (const std::string& id : state.governance().revoked) revoked.emplace_back(id);
  return Value::Map{{"head", chain::to_value(state.head())},
                    {"log", state.log().text()},
                    {"threshold", state.governance().set.threshold},
                    {"signers", std::move(signers)},
                    {"revoked", std::move(revoked)},
                    {"descriptors", std::move(descriptors)}};
}

http::ResponseBody state_body(StatePtr state, bool is_cbor) {
  if (state->descriptors_bytes() > bounds::kStatePiece) {
    return http::StreamedBody{std::make_unique<StateSource>(std::move(state), is_cbor)};
  }
  Value::Array descriptors;
  for (const auto& [key, descriptor] : state->descriptors()) {
    descriptors.push_back(descriptor->value);
  }
  return print(state_value(*state, std::move(descriptors)), is_cbor);
}

}  // namespace ron::registry
