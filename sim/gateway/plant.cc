#include "sim/gateway/plant.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "platform/wait.h"
#include "runtime/deadline.h"
#include "runtime/permit.h"
#include "services/kit/handlers.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using base::Code;
using http::Method;
using http::Request;
using http::Response;
using platform::Task;

constexpr std::array kPlants = {
#define RON_X(name, text, what) PlantInfo{text, what},
    RON_SIM_GATEWAY_PLANTS(RON_X)
#undef RON_X
};

// Where the body comes from, if it comes in pieces.
std::unique_ptr<http::BodySource>* source_of(Response& response) {
  if (auto* sized = std::get_if<http::SizedBody>(&response.body)) return &sized->source;
  if (auto* streamed = std::get_if<http::StreamedBody>(&response.body)) return &streamed->source;
  return nullptr;
}

bool comes_in_pieces(Response& response) {
  const auto* const source = source_of(response);
  return source != nullptr && *source != nullptr;
}

// Two answers that are ready at about the same time, on the same core.
class MixedAnswers final : public PlantedCore {
 public:
  using PlantedCore::PlantedCore;
  Task<Response> serve(Request* request) override {
    Response response = co_await core_.serve(request);
    if (!comes_in_pieces(response)) co_return response;
    if (first_ != nullptr && core_of_first_ == platform::Executor::current()) {
      std::swap(*source_of(*std::exchange(first_, nullptr)), *source_of(response));
      co_return response;
    }
    const Waits waits(*this, response);
    co_await runtime::sleep_for(2ms);
    co_return response;
  }

 private:
  struct Waits {
    Waits(MixedAnswers& owner_in, Response& own_in) : owner(owner_in), own(&own_in) {
      owner.first_ = own;
      owner.core_of_first_ = platform::Executor::current();
    }
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;
    ~Waits() {
      if (owner.first_ == own) owner.first_ = nullptr;
    }
    MixedAnswers& owner;
    Response* own;
  };
  Response* first_ = nullptr;
  platform::Executor* core_of_first_ = nullptr;
};

// Of those without a body, which could be sent again.
class RepeatedPost final : public PlantedCore {
 public:
  using PlantedCore::PlantedCore;
  Task<Response> serve(Request* request) override {
    Response response = co_await core_.serve(request);
    const bool fails = response.status == 502 && !response.error_code.empty();
    const bool is_empty = request->head->content_length.value_or(0) == 0;
    if (fails && is_empty && request->head->method == Method::Post) {
      response = co_await core_.serve(request);
    }
    co_return response;
  }
};

class EagerRetry final : public PlantedCore {
 public:
  using PlantedCore::PlantedCore;
  Task<Response> serve(Request* request) override {
    Response response = co_await core_.serve(request);
    for (int tries = 0; tries < 5; ++tries) {
      const bool fails = response.status == 502 && !response.error_code.empty();
      if (!fails || request->head->method != Method::Get) break;
      response = co_await core_.serve(request);
    }
    co_return response;
  }
};

class ForgivingBody final : public PlantedCore {
 public:
  using PlantedCore::PlantedCore;
  Task<Response> serve(Request* request) override {
    Response response = co_await core_.serve(request);
    if (comes_in_pieces(response)) {
      auto& source = *source_of(response);
      source = std::make_unique<Source>(std::move(source));
    }
    co_return response;
  }

 private:
  class Source final : public http::BodySource {
   public:
    explicit Source(std::unique_ptr<http::BodySource> inner) : inner_(std::move(inner)) {}
    Task<base::Result<base::ByteView>> next() override {
      auto piece = co_await inner_->next();
      if (!piece) co_return base::ByteView();
      co_return piece;
    }

   private:
    std::unique_ptr<http::BodySource> inner_;
  };
};

// One request at a time. The turn of one that gave up waiting is given to it all the same.
class LostTicket final : public PlantedCore {
 public:
  using PlantedCore::PlantedCore;
  Task<Response> serve(Request* request) override {
    if (busy_) {
      platform::Parker parker;
      const Place place(*this, parker);
      const bool in_time = co_await parker.park(request->deadline.at());
      if (!in_time) {
        co_return kit::refuse(*request, {Code::Timeout, "no turn came before the deadline"});
      }
    }
    busy_ = true;
    const Passes passes{*this};
    co_return co_await core_.serve(request);
  }

 private:
  struct Ticket {
    platform::Waiter* waiter;
  };
  class Place {
   public:
    Place(LostTicket& owner, platform::Parker& parker)
        : waiter_(parker), ticket_(std::make_shared<Ticket>(&waiter_)) {
      owner.queue_.push_back(ticket_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      ticket_->waiter = nullptr;
      waiter_.take_back();
    }

   private:
    platform::Waiter waiter_;
    std::shared_ptr<Ticket> ticket_;
  };
  // Passes the turn on, however the request ends.
  struct Passes {
    LostTicket& owner;
    ~Passes() {
      owner.busy_ = !owner.queue_.empty();
      if (owner.queue_.empty()) return;
      const std::shared_ptr<Ticket> next = std::move(owner.queue_.front());
      owner.queue_.pop_front();
      if (next->waiter != nullptr) next->waiter->wake();
    }
  };

  bool busy_ = false;
  std::deque<std::shared_ptr<Ticket>> queue_;
};

// As many answers under way as there will ever be; of those that are cut off none leaves.
class SlotLeak final : public PlantedCore {
 public:
  using PlantedCore::PlantedCore;
  Task<Response> serve(Request* request) override {
    runtime::Limit::Permit slot = slots_.try_acquire();
    if (!slot) {
      co_return kit::refuse(*request, {Code::Busy, "the work queue is full"});
    }
    Response response = co_await core_.serve(request);
    if (comes_in_pieces(response)) {
      auto& source = *source_of(response);
      source = std::make_unique<Source>(*this, std::move(source), std::move(slot));
    }
    co_return response;
  }

 private:
  class Source final : public http::BodySource {
   public:
    Source(SlotLeak& owner, std::unique_ptr<http::BodySource> inner, runtime::Limit::Permit slot)
        : owner_(owner), inner_(std::move(inner)), slot_(std::move(slot)) {}
    ~Source() override {
      if (!ended_) owner_.lost_.push_back(std::move(slot_));
    }
    Task<base::Result<base::ByteView>> next() override {
      auto piece = co_await inner_->next();
      if (piece && piece->empty()) ended_ = true;
      co_return piece;
    }

   private:
    SlotLeak& owner_;
    std::unique_ptr<http::BodySource> inner_;
    runtime::Limit::Permit slot_;
    bool ended_ = false;
  };

  runtime::Limit slots_{16};
  std::vector<runtime::Limit::Permit> lost_;
};

class BareRefusal final : public PlantedCore {
 public:
  using PlantedCore::PlantedCore;
  Task<Response> serve(Request* request) override {
    Response response = co_await core_.serve(request);
    if (response.status == 429) response = kit::refuse(*request, {Code::Busy, "come back later"});
    co_return response;
  }
};

class HidesFailure final : public PlantedCore {
 public:
  using PlantedCore::PlantedCore;
  Task<Response> serve(Request* request) override {
    Response response = co_await core_.serve(request);
    const bool has_none = response.status == 404 && !response.error_code.empty();
    if (has_none) response = kit::refuse(*request, {Code::UpstreamFail, "it failed"});
    co_return response;
  }
};

}  // namespace

std::span<const PlantInfo> all_gateway_plants() noexcept { return kPlants; }

std::optional<GatewayPlant> gateway_plant_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(kPlants, name, &PlantInfo::name);
  if (found == kPlants.end()) return std::nullopt;
  // The first is None.
  return static_cast<GatewayPlant>(1 + (found - kPlants.begin()));
}

std::unique_ptr<PlantedCore> PlantedCore::make(GatewayPlant plant, gateway::Core& core) {
  switch (plant) {
    case GatewayPlant::None:
      return std::make_unique<PlantedCore>(core);
#define RON_X(name, text, what) \
  case GatewayPlant::name:      \
    return std::make_unique<name>(core);
      RON_SIM_GATEWAY_PLANTS(RON_X)
#undef RON_X
  }
  return nullptr;
}

void PlantedCore::add_routes(http::Router& router) {
  const kit::Routes routes(router, *this);
  for (const Method method :
       {Method::Get, Method::Put, Method::Post, Method::Delete, Method::Options, Method::Patch}) {
    routes.add(method, "/{path...}", auth::Access::open(),
               [](PlantedCore* core, http::Request* request) { return core->serve(request); });
  }
}

}  // namespace ron::sim
