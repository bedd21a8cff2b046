#include "services/registry/rendered.h"

#include <chrono>
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

constexpr platform::BlockingKind kRender{"render_document", std::chrono::seconds(30)};

std::string print(const Value& value, bool is_cbor) {
  return is_cbor ? base::encode_cbor(value) : base::print_json(value) + "\n";
}

// All but the descriptors.
Value::Map fields_of(const chain::State& state) {
  Value::Array signers;
  for (const chain::Signer& signer : state.governance().set.signers) {
    Value::Map one = *chain::to_value(signer).map();
    one.emplace("id", signer.id);
    signers.emplace_back(std::move(one));
  }
  Value::Array revoked;
  for (const std::string& id : state.governance().revoked) revoked.emplace_back(id);
  return {{"head", chain::to_value(state.head())},
          {"log", state.log().text()},
          {"threshold", state.governance().set.threshold},
          {"signers", std::move(signers)},
          {"revoked", std::move(revoked)}};
}

// Holds the state and one piece.
class StateSource final : public http::BodySource {
 public:
  StateSource(StatePtr state, bool is_cbor)
      : state_(std::move(state)), is_cbor_(is_cbor), next_(state_->descriptors().begin()) {
    // Both kinds of document have their fields in a fixed order: `descriptors` is the first of the
    // JSON, and the last of the CBOR.
    if (is_cbor_) {
      const Value::Map fields = fields_of(*state_);
      begin_ = print(Value(fields), true);
      constexpr unsigned char kMapHead = 0xA0;
      begin_.front() = static_cast<char>(kMapHead + fields.size() + 1);
      base::CborWriter(begin_).text("descriptors");
      base::CborWriter(begin_).array(state_->descriptors().size());
    } else {
      begin_ = "{\"descriptors\":[";
      end_ = "]," + print(Value(fields_of(*state_)), false).substr(1);
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
  StatePtr state_;
  const bool is_cbor_;
  chain::State::Descriptors::ConstIterator next_;
  std::string begin_;
  std::string end_;
  std::string piece_;
};

}  // namespace

Task<Result<std::string>> render(platform::BlockingPool* pool, bool is_cbor, std::size_t bytes,
                                 MakeValue make) {
  if (bytes <= bounds::kInlineBytes) co_return print(make(), is_cbor);
  co_return co_await pool->run(
      kRender, [is_cbor, make = std::move(make)] { return print(make(), is_cbor); });
}

Task<Response> rendered(platform::BlockingPool* pool, const http::Request* request, int status,
                        std::size_t bytes, MakeValue make) {
  const bool is_cbor = kit::wants_cbor(*request);
  auto text = co_await render(pool, is_cbor, bytes, std::move(make));
  if (!text) co_return kit::refuse(*request, text.error());
  co_return Response::text(status, std::move(*text), kit::content_type(is_cbor));
}

Value state_value(const chain::State& state) {
  Value::Array descriptors;
  for (const auto& [key, descriptor] : state.descriptors()) {
    descriptors.push_back(descriptor->value);
  }
  Value::Map map = fields_of(state);
  map.emplace("descriptors", std::move(descriptors));
  return Value(std::move(map));
}

std::unique_ptr<http::BodySource> state_source(StatePtr state, bool is_cbor) {
  return std::make_unique<StateSource>(std::move(state), is_cbor);
}

}  // namespace ron::registry
