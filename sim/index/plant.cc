#include "sim/index/plant.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/value.h"
#include "runtime/deadline.h"
#include "services/index/routes.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::sim {
namespace {

using http::Method;
using http::Response;
using platform::Task;

constexpr std::array kPlants = {
#define RON_X(name, text, what) PlantInfo{text, what},
    RON_SIM_INDEX_PLANTS(RON_X)
#undef RON_X
};

}  // namespace

std::span<const PlantInfo> all_index_plants() noexcept { return kPlants; }

std::optional<IndexPlant> index_plant_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(kPlants, name, &PlantInfo::name);
  if (found == kPlants.end()) return std::nullopt;
  // The first is None.
  return static_cast<IndexPlant>(1 + (found - kPlants.begin()));
}

// Of routes that match alike the first one wins.
void WatchedRoutes::add(http::Router& router, index::Core& core) {
  core_ = &core;
  meters_ = std::make_unique<runtime::Meters>("svc-index");
  real_ = std::make_unique<http::Router>(*meters_);
  index::add_routes(*real_, core);
  router.add({Method::Get, "/resolve/{key...}", auth::Access::read(),
              [this](http::Request* request) { return resolve(request); }});
  if (plant_ == IndexPlant::LostCas) {
    router.add({Method::Put, "/names/{name...}",
                auth::Access::needs(auth::Scope::kIndexWrite).or_fully(auth::Scope::kIndexAdmin),
                [this](http::Request* request) { return set_name(request); }});
  }
  index::add_routes(router, core);
}

Task<Response> WatchedRoutes::call(Method method, http::Request* request) {
  const http::Router::Match match = real_->match(method, *request);
  return match.route->handler(request);
}

std::optional<std::string> WatchedRoutes::remembered(const http::Request& request) const {
  const auto found = stale_.find(std::string(request.path));
  return found == stale_.end() ? std::nullopt : std::optional(found->second);
}

// A request may have used up its time before it gets here.
Task<Response> WatchedRoutes::resolve(http::Request* request) {
  const platform::TimePoint begun = platform::Executor::current()->now();
  const runtime::Deadline own =
      runtime::Deadline::in(std::chrono::milliseconds(core_->settings()->dht.deadline_ms))
          .sooner(request->deadline);
  if (plant_ == IndexPlant::StaleAnswer) {
    const auto known = remembered(*request);
    if (known) co_return Response::json(200, *known);
  }
  Response response = co_await call(Method::Get, request);
  if (plant_ == IndexPlant::StaleAnswer && response.status == 200) {
    if (const auto* body = std::get_if<std::string>(&response.body)) {
      stale_[std::string(request->path)] = *body;
    }
  }
  if (plant_ == IndexPlant::Late && response.status != 200) {
    co_await runtime::sleep_for(std::chrono::milliseconds(100));
  }
  const platform::TimePoint now = platform::Executor::current()->now();
  const platform::TimePoint latest = std::max(begun, own.at());
  if (now > latest) late_(now - latest);
  co_return response;
}

// As if nobody had expected anything.
Task<Response> WatchedRoutes::set_name(http::Request* request) {
  const auto name = catalog::parse_name(request->params[0]);
  const auto value = co_await kit::read_document(request);
  if (!name || !value || value->find("target") == nullptr) {
    co_return kit::refuse(*request, {base::Code::Malformed, "no name"});
  }
  index::NameVersion wanted;
  wanted.name = name->text();
  wanted.tenant = request->tenant;
  wanted.target = *base::ObjectId::parse(*value->find("target")->text());
  const index::Origin origin{.corr_id = request->corr_id,
                             .token = request->token,
                             .tenant = request->tenant,
                             .is_admin = request->grant_full};
  const auto set =
      co_await core_->set_name(std::move(wanted), std::nullopt, origin, request->deadline);
  if (!set) co_return kit::refuse(*request, set.error());
  co_return kit::document(*request, set->is_new ? 201 : 200, index::to_value(set->version));
}

}  // namespace ron::sim
